#include "api/inbox_rows.h"

#include "api/answers.h"

namespace restante::api {
namespace {

void write_row(JsonWriter& out, const InboxRow& row) {
  out.member("activity_type", row.activity_type);
  out.member("created_at", format_time(row.created_at));
  out.key("duration_ms");
  row.duration_ms ? out.integer(*row.duration_ms) : out.null();
  write_text(out, "error_detail", row.error_detail);
  out.member("id", row.id.text());
  write_text(out, "method", row.method);
  if (!row.request_body.empty()) {
    out.key("request_body");
    out.raw(row.request_body);
  }
  if (!row.response_body.empty()) {
    out.key("response_body");
    out.raw(row.response_body);
  }
  out.member("seq", row.seq);
  write_text(out, "source_id", row.source_id ? row.source_id->text() : std::string());
  write_text(out, "status", row.status);
  write_text(out, "summary", row.summary);
  write_text(out, "target_id", row.target_id ? row.target_id->text() : std::string());
  out.member("workspace_id", row.workspace_id.text());
}

void write_peer(JsonWriter& out, const InboxRow& row, desk::PeerInfo& info) {
  const auto peer = info.peer_of(row);
  write_text(out, "peer_name", peer ? peer->name : std::string());
  write_text(out, "peer_role", peer ? peer->role : std::string());
  out.key("attachments");
  out.begin_array();
  for (const desk::Attachment& attachment : info.attachments_of(row)) {
    out.begin_object();
    out.member("kind", "file");
    out.member("uri", attachment.file.uri);
    write_text(out, "mime_type", attachment.file.mime_type);
    write_text(out, "name", attachment.file.name);
    out.key("size");
    attachment.file.size ? out.integer(*attachment.file.size) : out.null();
    out.member("state", attachment.state);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

http::Response rows_answer(const Context& context, const std::vector<InboxRow>& rows, PeerDetails peers) {
  desk::PeerInfo info = context.inbox.peer_info();
  JsonWriter out;
  out.begin_array();
  for (const InboxRow& row : rows) {
    out.begin_object();
    write_row(out, row);
    if (peers == PeerDetails::included) write_peer(out, row, info);
    out.end_object();
  }
  out.end_array();
  return http::json(200, out.take());
}

}  // namespace restante::api
