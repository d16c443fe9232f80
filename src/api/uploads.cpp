#include "api/uploads.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/answers.h"
#include "base/text.h"
#include "http/ranges.h"
#include "model/errors.h"

namespace restante::api {
namespace {

struct PendingPath {
  WorkspaceId workspace;
  FileId file;
};

Result<PendingPath> pending_path(const http::Request& request) {
  const auto workspace = id_param<WorkspaceId>(request, "id");
  if (!workspace) return workspace.error();
  const auto file = id_param<FileId>(request, "fid");
  if (!file) return file.error();
  return PendingPath{*workspace, *file};
}

void write_upload(JsonWriter& out, const Upload& upload, Time now) {
  out.begin_object();
  out.member("file_id", upload.id.text());
  out.member("name", upload.name);
  out.member("mimeType", upload.mimetype);
  out.member("size", upload.size);
  out.member("sha256", to_hex(upload.sha256));
  out.member("state", name_of(upload.state(now)));
  out.member("created_at", format_time(upload.created_at));
  write_time(out, "fetched_at", upload.fetched_at);
  write_time(out, "acked_at", upload.acked_at);
  out.member("expires_at", format_time(upload.expires_at));
  out.member("uri", pending_uri(upload.workspace_id, upload.id));
  out.end_object();
}

// Whatever was uploaded, a browser that opens it must neither render nor run it.
void add_content_headers(http::Response& response, const Upload& upload, std::string_view etag) {
  const std::string_view type =
      upload.mimetype.empty() ? "application/octet-stream" : std::string_view(upload.mimetype);
  response.headers.emplace_back("Content-Type", type);
  response.headers.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}\"; filename*=UTF-8''{}",
                                                                   upload.name, percent_encode(upload.name)));
  response.headers.emplace_back("Content-Security-Policy", "sandbox; default-src 'none'");
  response.headers.emplace_back("Cache-Control", "private, no-store");
  response.headers.emplace_back("Accept-Ranges", "bytes");
  response.headers.emplace_back("ETag", etag);
  response.headers.emplace_back("Repr-Digest", fmt::format("sha-256=:{}:", to_base64(upload.sha256)));
}

http::Response not_satisfiable(std::int64_t size) {
  http::Response response = http::json(416, R"({"error":"the file has no such range","code":"range_not_satisfiable"})");
  response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
  return response;
}

}  // namespace

http::Response list_pending(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  std::optional<FileId> after;
  if (const auto text = request.query_param("after")) {
    after = FileId::parse(*text);
    if (!after) return answer(bad_id("after"));
  }
  const auto limit = parse_signed(request.query_param("limit").value_or("")).value_or(100);
  const auto rows = context.uploads.waiting(*id, after, static_cast<int>(std::clamp<std::int64_t>(limit, 1, 500)));
  JsonWriter out;
  out.begin_array();
  for (const Upload& upload : rows) write_upload(out, upload, context.clock.now());
  out.end_array();
  return http::json(200, out.take());
}

http::Response read_pending(const Context& context, http::Request& request) {
  const auto path = pending_path(request);
  if (!path) return answer(path.error());
  const auto upload = context.uploads.find(path->workspace, path->file);
  if (!upload) return answer(upload.error());
  JsonWriter out;
  write_upload(out, *upload, context.clock.now());
  return http::json(200, out.take());
}

http::Response pending_content(const Context& context, http::Request& request) {
  const auto path = pending_path(request);
  if (!path) return answer(path.error());
  const auto open = context.uploads.open(caller(request), path->workspace, path->file);
  if (!open) return answer(open.error());
  const Upload& upload = open->upload;
  const std::string etag = fmt::format("\"{}\"", to_hex(upload.sha256));
  http::Response response;
  if (const auto list = request.header("If-None-Match"); !list.empty() && http::etag_matches(list, etag)) {
    response.status = 304;
    add_content_headers(response, upload, etag);
    return response;
  }
  const auto size = static_cast<std::uint64_t>(upload.size);
  const auto choice = http::choose_range(request.header("Range"), request.header("If-Range"), etag, size);
  if (choice.answer == http::RangeAnswer::unsatisfiable) return not_satisfiable(upload.size);
  if (request.method == http::Method::get && caller(request).is_agent_of(path->workspace)) {
    context.uploads.note_fetched(upload);
  }
  add_content_headers(response, upload, etag);
  if (choice.answer == http::RangeAnswer::part) {
    response.status = 206;
    const auto& range = choice.range;
    response.headers.emplace_back(
        "Content-Range", fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, upload.size));
  }
  response.content = http::FileSlice{open->blob, open->blob->fd(), choice.range.offset, choice.range.length};
  return response;
}

http::Response ack_pending(const Context& context, http::Request& request) {
  const auto path = pending_path(request);
  if (!path) return answer(path.error());
  return http::after(context.uploads.ack(path->workspace, path->file), [](Result<Upload> acked) {
    return acked ? http::json(200, R"({"acked":true})") : answer(acked.error());
  });
}

}  // namespace restante::api
