// One row of a workspace's inbox, which is also its audit trail. JSON columns are text as it will be sent.
#pragma once
#include <optional>
#include <string>
#include <vector>

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
  // Only for recognising repeats, not stored. `sent_by` is the owner of message_id where source_id does not name one (a
  // person's token). `content` is the part of request_body that is the message, without the call's own number; all of
  // it when empty.
  std::string sent_by;
  std::string content;
  // Only for the answer, not stored: what was removed from the client's message (model/reserved_members.h).
  std::vector<std::string> ignored;
};

struct InboxRow : NewInboxRow {
  InboxRowId id;
  WorkspaceId workspace_id;
  std::int64_t seq = 0;
  Time created_at;
};

// Whether the row is part of the chat between the people of a workspace and its agent: messages of people, messages of
// the agent, uploads and their receipts. Messages between agents are not part of it.
bool is_chat(const InboxRow& row);

// What a reader asks for. With a cursor the rows ascend from it, without one they descend from the newest.
struct InboxQuery {
  std::optional<InboxRowId> since_id;
  std::optional<std::int64_t> since_seq;
  std::optional<std::int64_t> above_seq;  // ascends like a cursor, but its row may have been pruned
  std::optional<std::int64_t> below_seq;  // only rows below it
  std::optional<Time> not_before;         // since_secs
  std::optional<Time> before;             // before_ts
  std::string type;                       // exact activity_type; chat_upload_receive selects by method
  enum class Source { any, canvas, agent } source = Source::any;
  std::optional<WorkspaceId> peer;
  bool chat_only = false;    // only rows for which is_chat() is true
  bool no_receipts = false;  // without receipts of uploads
  int limit = 100;
  std::size_t max_bytes = 1 << 20;  // of bodies; never below one row

  bool operator==(const InboxQuery&) const = default;
  bool ascends() const { return since_id || since_seq || above_seq; }
  // Whether there may be rows between two rows of the answer.
  bool filters() const { return !type.empty() || source != Source::any || peer || chat_only || no_receipts; }
};

// One step of a search for the rows of a query.
struct InboxStep {
  std::vector<InboxRow> rows;  // one page; if it is not empty, the rest of this is not needed
  // No row from after `from` to `to` matches, in the query's direction; `to` belongs to it, `from` does not, and no row
  // will be appended between them. Absent: nothing new is known.
  std::optional<std::int64_t> from{};
  std::optional<std::int64_t> to{};
  bool more = false;  // there are rows that no step has looked at
};

}  // namespace restante
