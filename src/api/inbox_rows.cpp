#include "api/inbox_rows.h"

#include "api/answers.h"

namespace restante::api {
namespace {

void write_row(JsonWriter& out, const InboxRow& row) {
  out.member("activity_type", row.activity_type);
  out.member("created_at", row.created_at);
  out.member_or_null("duration_ms", row.duration_ms);
  out.member_or_null("error_detail", row.error_detail);
  out.member("id", row.id.text());
  out.member_or_null("method", row.method);
  if (!row.request_body.empty()) out.raw_member("request_body", row.request_body);
  if (!row.response_body.empty()) out.raw_member("response_body", row.response_body);
  out.member("seq", row.seq);
  out.member_or_null("source_id", row.source_id ? row.source_id->text() : std::string());
  out.member_or_null("status", row.status);
  out.member_or_null("summary", row.summary);
  out.member_or_null("target_id", row.target_id ? row.target_id->text() : std::string());
  out.member("workspace_id", row.workspace_id.text());
}

void write_peer(JsonWriter& out, const InboxRow& row, desk::PeerInfo& info) {
  const auto peer = info.peer_of(row);
  out.member_or_null("peer_name", peer ? peer->name : std::string());
  out.member_or_null("peer_role", peer ? peer->role : std::string());
  out.objects("attachments", info.attachments_of(row), [&](const desk::Attachment& attachment) {
    out.member("kind", "file");
    out.member("uri", attachment.file.uri);
    out.member_or_null("mime_type", attachment.file.mime_type);
    out.member_or_null("name", attachment.file.name);
    out.member_or_null("size", attachment.file.size);
    out.member("state", attachment.state);
  });
}

}  // namespace

http::Response rows_answer(const Context& context, const std::vector<InboxRow>& rows, PeerDetails peers) {
  desk::PeerInfo info = context.inbox.peer_info();
  return list_answer(rows, [&](JsonWriter& out, const InboxRow& row) {
    write_row(out, row);
    if (peers == PeerDetails::included) write_peer(out, row, info);
  });
}

}  // namespace restante::api
