// The inbox rows that the server itself appends: what they say about an upload or a delegation, as agents and pages
// read it. This is the only place that knows their JSON. Pure functions.
#pragma once
#include <cstddef>
#include <string>

#include "model/delegation.h"
#include "model/inbox_row.h"
#include "model/upload.h"

namespace restante {

// The length of a row's summary; longer texts are cut.
inline constexpr std::size_t kSummaryBytes = 200;

// A file has arrived for the agent. The row says if the agent itself staged it: once a message of the agent names such
// a file, the file is the agent's and not a person's.
NewInboxRow arrival_of(WorkspaceId workspace, const NewUpload& item, const StagingTerms& terms);
// What became of a file: chat_upload_<outcome>.
NewInboxRow receipt_of(const Upload& upload, UploadState outcome);

// The task as the receiving agent gets it: an A2A message with the delegation's id in its metadata. `files` is a JSON
// list.
NewInboxRow task_message(const Delegation& made, const std::string& task, const std::string& files,
                         std::string traceparent);
// The note about a new delegation in the caller's inbox.
NewInboxRow sent_note(const Delegation& made);
// The note about another status.
NewInboxRow status_note(const Delegation& of);
// The row that gives the caller the result, or a late answer.
NewInboxRow result_row(const Delegation& of, const DelegationReport& report, bool late);

}  // namespace restante
