// TaskFiles are the files that go with a task or with its result, under the names that the other side will use. A task
// that is retried reuses its files wherever their blobs still are. These functions only read; the store stages the
// files in the same transaction as the task.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "model/delegation.h"
#include "store/uploads.h"

namespace restante::desk {

struct TaskFiles {
  std::string files;  // a JSON list, empty when there are none
  std::vector<OutgoingFile> outgoing;
};

// `parts` are A2A file parts. too_many_files; attachment_gone for a file of another workspace.
Result<TaskFiles> name_task_files(WorkspaceId from, WorkspaceId to, Json::Array parts, Time now);

// The files of a task that was given before. A file whose blob was deleted is still in the list: the store refuses it,
// after it has checked whether the request is a repeated one.
TaskFiles reuse_task_files(UploadStore& store, const DelegationRecord& old, WorkspaceId to, Time now);

}  // namespace restante::desk
