// One row of the activity log: the agent's inbox and the audit trail in one. JSON columns are text as it will be sent.
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/ids.h"

namespace restante {

struct NewActivity {
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
};

struct Activity : NewActivity {
  ActivityId id;
  WorkspaceId workspace_id;
  std::int64_t seq = 0;
  Time created_at;
};

// What a reader asks for. With a cursor the answer ascends from it, without one it descends from the newest.
struct ActivityQuery {
  std::optional<ActivityId> since_id;
  std::optional<std::int64_t> since_seq;
  std::optional<Time> not_before;  // since_secs
  std::optional<Time> before;      // before_ts
  std::string type;                // exact activity_type; chat_upload_receive selects by method
  enum class Source { any, canvas, agent } source = Source::any;
  std::optional<WorkspaceId> peer;
  int limit = 100;
  std::size_t max_bytes = 1 << 20;  // of bodies; never below one row
};

}  // namespace restante
