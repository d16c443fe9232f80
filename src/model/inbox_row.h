// One row of the activity log: the agent's inbox and the audit trail in one. JSON columns are text as it will be sent.
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/ids.h"

namespace restante {

struct NewInboxRow {
  std::string activity_type;
  std::string method;
  std::string summary;
  std::optional<WorkspaceId> source_id;
  std::optional<WorkspaceId> target_id;
  std::string request_body;   // JSON text, empty when there is none
  std::string response_body;  // JSON text, empty when there is none
  std::string status = "ok";
  std::string error_detail;
  std::optional<std::int64_t> duration_ms;
  std::string message_id;  // of an A2A message; a repeat by the same source with the same content is the same row
  std::string traceparent;
  // For telling repeats alone, stored nowhere: whose message_id it is where source_id does not say (a person's token),
  // and what of request_body is the message, without the call's own number; all of it when empty.
  std::string sent_by;
  std::string content;
};

struct InboxRow : NewInboxRow {
  InboxRowId id;
  WorkspaceId workspace_id;
  std::int64_t seq = 0;
  Time created_at;
};

// The chat between the people of a workspace and its agent, and what became of the files in it: messages by people,
// the agent's words, uploads and their receipts. What agents say to each other is not part of it.
bool is_chat(const InboxRow& row);

// What a reader asks for. With a cursor the answer ascends from it, without one it descends from the newest.
struct InboxQuery {
  std::optional<InboxRowId> since_id;
  std::optional<std::int64_t> since_seq;
  std::optional<std::int64_t> above_seq;  // ascends like a cursor, but need not name a row: one pruned since will do
  std::optional<std::int64_t> below_seq;  // rows below it only
  std::optional<Time> not_before;         // since_secs
  std::optional<Time> before;             // before_ts
  std::string type;                       // exact activity_type; chat_upload_receive selects by method
  enum class Source { any, canvas, agent } source = Source::any;
  std::optional<WorkspaceId> peer;
  bool chat_only = false;  // rows of which is_chat() is true
  int limit = 100;
  std::size_t max_bytes = 1 << 20;  // of bodies; never below one row

  bool operator==(const InboxQuery&) const = default;
};

}  // namespace restante
