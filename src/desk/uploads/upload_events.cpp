#include "desk/uploads/upload_events.h"

#include <algorithm>
#include <chrono>

#include "base/json_writer.h"

namespace restante::desk {
namespace {

std::string facts_of_fetch(const Upload& upload) {
  return json_object([&](JsonWriter& out) {
    out.member("file_id", upload.id.text());
    out.member("name", upload.name);
    out.member("size", upload.size);
    out.member("fetched_at", *upload.fetched_at);
    // Decides who may see the event: see is_chat() in desk/events/event.h.
    out.member_or_null("source_id", upload.source_id ? upload.source_id->text() : std::string());
  });
}

}  // namespace

void UploadEvents::log_event(std::string_view event, const Upload& upload) {
  log_event(LogLevel::info, event, upload, {"direction", name_of(upload.direction)});
}

void UploadEvents::log_event(LogLevel level, std::string_view event, const Upload& upload, LogField fact) {
  log_.write(level, event,
             {{"workspace_id", upload.workspace_id.text()},
              {"file_id", upload.id.text()},
              {"name", upload.name},
              {"size", upload.size},
              fact});
}

void UploadEvents::receipt(const UploadChange& change) {
  if (change.receipt) event_bus_.appended(change.upload.workspace_id, *change.receipt);
}

void UploadEvents::staged(const StagedUpload& staged) {
  const Upload& upload = staged.upload;
  log_event("upload_staged", upload);
  if (upload.direction == UploadDirection::out) return;
  metrics_.uploads_staged.Increment();
  metrics_.uploads_staged_bytes.Increment(static_cast<double>(upload.size));
  event_bus_.appended(upload.workspace_id, staged.row);
}

void UploadEvents::fetched(const Upload& upload) {
  metrics_.uploads_fetched.Increment();
  metrics_.uploads_fetched_bytes.Increment(static_cast<double>(upload.size));
  log_event("upload_fetched", upload);
  event_bus_.publish(upload.workspace_id, "UPLOAD_FETCHED", facts_of_fetch(upload));
}

void UploadEvents::acked(const UploadChange& change) {
  if (!change.receipt) return;
  metrics_.uploads_acked.Increment();
  metrics_.uploads_acked_bytes.Increment(static_cast<double>(change.upload.size));
  const std::chrono::duration<double> waited = change.upload.acked_at.value() - change.upload.created_at;
  metrics_.upload_delivery.Observe(std::max(0.0, waited.count()));
  log_event("upload_acked", change.upload);
  receipt(change);
}

void UploadEvents::failed(const UploadChange& change) {
  if (!change.receipt) return;
  metrics_.uploads_failed.Increment();
  log_event(LogLevel::warn, "upload_failed", change.upload, {"reason", change.upload.reason});
  receipt(change);
}

void UploadEvents::damaged(const UploadChange& change) {
  const std::string_view damage = name_of(*change.upload.damage);
  metrics_.uploads_damaged(damage).Increment();
  log_event(LogLevel::error, "upload_damaged", change.upload, {"damage", damage});
  receipt(change);
}

void UploadEvents::recalled(const UploadChange& change) {
  metrics_.uploads_recalled.Increment();
  log_event("upload_recalled", change.upload);
  receipt(change);
}

void UploadEvents::expired(const UploadChange& change) {
  log_event("upload_expired", change.upload);
  receipt(change);
}

void UploadEvents::unreadable(const Upload& upload, std::string_view reason) {
  metrics_.uploads_checked("unreadable").Increment();
  log_event(LogLevel::error, "upload_unreadable", upload, {"reason", reason});
}

}  // namespace restante::desk
