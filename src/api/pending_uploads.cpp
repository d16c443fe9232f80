#include "api/uploads.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/answers.h"
#include "api/handlers.h"
#include "base/text.h"
#include "http/ranges.h"
#include "model/errors.h"

namespace restante::api {
namespace {

// A browser that opens an uploaded file must neither render nor run it.
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

http::Response::Content slice(const Context& context, const Principal& who, desk::OpenUpload& open,
                              const http::ByteRange& range) {
  if (open.blob) {
    auto may_go_on = [&context, who] { return context.principals.still_live(who); };
    auto slice = std::make_shared<http::FileSlice>(http::FileSlice{open.blob,
                                                                   open.blob->fd(),
                                                                   range.offset,
                                                                   range.length,
                                                                   desk::revocation_topics(who),
                                                                   std::move(may_go_on),
                                                                   {}});
    if (slice->fd < 0) {
      slice->read = [blob = open.blob](std::uint64_t at, std::span<char> into) { return blob->read(at, into); };
    }
    return slice;
  }
  if (range.length == open.content.size()) return std::move(open.content);
  return open.content.substr(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.length));
}

// Everything that the answer depends on: when the content is on another machine, the request may be destroyed before
// the answer.
struct ContentRequest {
  explicit ContentRequest(const http::Request& request)
      : who(caller(request)), method(request.method), conditions(request) {}

  Principal who;
  http::Method method;
  http::FileConditions conditions;
};

http::Response content_answer(const Context& context, const ContentRequest& request, Upload admitted) {
  auto open = context.uploads.open(std::move(admitted));
  if (!open) return answer(open.error());
  const Upload& upload = open->upload;
  const std::string etag = fmt::format("\"{}\"", to_hex(upload.sha256));
  http::Response response;
  add_content_headers(response, upload, etag);
  const auto choice = http::choose_answer(request.conditions, etag, static_cast<std::uint64_t>(upload.size));
  if (choice.answer == http::FileAnswer::precondition_failed) return precondition_failed();
  if (choice.answer == http::FileAnswer::not_modified) {
    response.status = 304;
    return response;
  }
  if (choice.answer == http::FileAnswer::unsatisfiable) return not_satisfiable(upload.size);
  if (request.method == http::Method::get && request.who.is_agent_of(upload.workspace_id)) {
    context.uploads.record_fetch(upload);
  }
  if (choice.answer == http::FileAnswer::part) {
    response.status = 206;
    const auto& range = choice.range;
    response.headers.emplace_back(
        "Content-Range", fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, upload.size));
  }
  response.content = slice(context, request.who, *open, choice.range);
  return response;
}

// JSON is checked strictly; any other body that is a JSON object is read in the same way, and the rest is ignored: this
// route takes any Content-Type, and curl sends that of a form by default.
Result<std::string> reason_of(const http::Request& request) {
  auto body = json_body(request, BodyMay::be_absent);
  if (!body && !body.error().is(errors::json_expected)) return body.error();
  if (!body) {
    auto parsed = parse_json(request.body);
    if (!parsed || !parsed->if_object()) return std::string();
    body = std::move(*parsed);
  }
  Fields fields(*body);
  const auto reason = fields.text("reason");
  return fields.result(reason.value_or(""));
}

// Whether recall_pending would succeed for this principal.
bool is_recallable(const Principal& who, const Upload& upload, UploadState state) {
  const bool waits = state == UploadState::staged || state == UploadState::fetched || state == UploadState::failed;
  if (!waits) return false;
  return who.is_admin() || (upload.staged_by && upload.staged_by == who.own_token());
}

}  // namespace

void write_upload(JsonWriter& out, const Upload& upload, UploadState state) {
  out.member("file_id", upload.id.text());
  out.member("name", upload.name);
  out.member("mimeType", upload.mimetype);
  out.member("size", upload.size);
  out.member("sha256", to_hex(upload.sha256));
  out.member("direction", name_of(upload.direction));
  out.member("state", name_of(state));
  out.member("created_at", upload.created_at);
  out.member_or_null("fetched_at", upload.fetched_at);
  out.member_or_null("acked_at", upload.acked_at);
  out.member_or_null("failed_at", upload.failed_at);
  out.member_or_null("reason", upload.reason);
  out.member_or_null("damage", upload.damage ? name_of(*upload.damage) : std::string_view());
  out.member("expires_at", upload.expires_at);
  out.member("uri", pending_uri(upload.workspace_id, upload.id));
}

http::Response list_pending(const Context& context, http::Request& request) {
  const auto after = id_parameter<FileId>(request, "after");
  if (!after) return answer(after.error());
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(100);
  const auto rows = context.uploads.waiting(caller(request), workspace_in(request), *after,
                                            static_cast<int>(std::clamp<std::int64_t>(limit, 1, 500)));
  const Time now = context.clock.expiry_time();
  return list_answer(rows, [&](JsonWriter& out, const Upload& upload) {
    write_upload(out, upload, upload.state(now));
    out.member("recallable", is_recallable(caller(request), upload, upload.state(now)));
  });
}

http::Response read_pending(const Context& context, http::Request& request) {
  const auto upload_status = context.uploads.find(caller(request), workspace_in(request), file_in(request));
  if (!upload_status) return answer(upload_status.error());
  return object_answer(200, [&](JsonWriter& out) {
    write_upload(out, upload_status->upload, upload_status->state);
    out.member("recallable", is_recallable(caller(request), upload_status->upload, upload_status->state));
    out.member_or_null("ended_at", upload_status->ended_at);
  });
}

http::Response pending_content(const Context& context, http::Request& request) {
  auto upload = context.uploads.admit(caller(request), workspace_in(request), file_in(request));
  if (!upload) return answer(upload.error());
  ContentRequest content_request(request);
  if (!desk::Uploads::is_far(*upload)) return content_answer(context, content_request, std::move(*upload));
  return http::from_bytes([&context, content_request = std::move(content_request), upload = std::move(*upload)] {
    return content_answer(context, content_request, upload);
  });
}

http::Response ack_pending(const Context& context, http::Request& request) {
  return http::after(context.uploads.ack(workspace_in(request), file_in(request)), fixed_answer(R"({"acked":true})"));
}

http::Response fail_pending(const Context& context, http::Request& request) {
  auto reason = reason_of(request);
  if (!reason) return answer(reason.error());
  auto commit = context.uploads.fail(workspace_in(request), file_in(request), std::move(*reason));
  return http::after(std::move(commit), fixed_answer(R"({"failed":true})"));
}

http::Response recall_pending(const Context& context, http::Request& request) {
  auto commit = context.uploads.recall(caller(request), workspace_in(request), file_in(request));
  return http::after(std::move(commit), fixed_answer(R"({"recalled":true})"));
}

}  // namespace restante::api
