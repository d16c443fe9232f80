// Parcels: the files that go along with a task or with its result, named as the other side will know them. A task that
// is given again takes its files along from wherever their bytes still are. Reads only; staging is the store's, in the
// same transaction as the task.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace restante::desk {

struct TaskFiles {
  std::string files;  // a JSON list, empty when there are none
  std::vector<OutgoingFile> outgoing;
};

// `parts` are A2A file parts. too_many_files; attachment_gone for a file of anybody else.
Result<TaskFiles> name_task_files(WorkspaceId from, WorkspaceId to, Json::Array parts, Time now);

// The files of a task that was given before. One whose bytes have left is still in the list: the store refuses it,
// after it has looked whether the order is a repeated one.
TaskFiles reuse_task_files(Store& store, const DelegationRecord& old, WorkspaceId to, Time now);

}  // namespace restante::desk
