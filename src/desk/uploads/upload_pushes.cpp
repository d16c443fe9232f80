#include "desk/uploads/upload_pushes.h"

#include <fmt/format.h>

#include "base/json.h"

namespace restante::desk {
namespace {

NewInboxRow row_of(const UploadPush& push) {
  NewInboxRow row;
  row.activity_type = "a2a_send";
  row.method = "chat_upload_push";
  row.target_id = push.target;
  row.summary = fmt::format("chat_upload_push: {} bytes", push.size);
  row.request_body = fmt::format(R"({{"size":{}}})", push.size);
  row.duration_ms = push.took.count();
  row.traceparent = push.traceparent;
  if (push.outcome != "delivered") {
    row.status = "error";
    row.error_detail = push.status > 0 ? fmt::format("callback answered {}", push.status)
                                       : fmt::format("callback not done: {}", push.outcome);
  }
  if (parse_json(push.reply)) row.response_body = push.reply;
  return row;
}

}  // namespace

Commit<Result<Appended>> UploadPushes::record(const UploadPush& push) {
  metrics_.upload_pushes(push.outcome).Increment();
  metrics_.upload_push_bytes.Increment(static_cast<double>(push.size));
  log_.info("upload_pushed", {{"workspace_id", push.target.text()},
                              {"outcome", push.outcome},
                              {"status", static_cast<std::int64_t>(push.status)},
                              {"size", static_cast<std::int64_t>(push.size)},
                              {"duration_ms", push.took.count()}});
  auto commit = store_.append_to_inbox(push.target, row_of(push), clock_.now());
  commit.then([&event_bus = event_bus_, target = push.target](const Result<Appended>& at) {
    if (at) event_bus.appended(target, *at);
  });
  return commit;
}

void UploadPushes::record_undelivered(WorkspaceId target, std::string_view outcome) {
  metrics_.upload_pushes(outcome).Increment();
  log_.warn("upload_not_pushed", {{"workspace_id", target.text()}, {"outcome", outcome}});
}

}  // namespace restante::desk
