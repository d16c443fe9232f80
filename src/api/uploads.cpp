#include "api/uploads.h"

#include "api/answers.h"
#include "api/handlers.h"
#include "api/idempotency.h"
#include "base/text.h"
#include "http/media_type.h"
#include "http/multipart.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Staged = std::vector<StagedUpload>;

http::Response staged_answer(const Staged& staged) {
  return object_answer(200, [&](JsonWriter& out) {
    out.objects("files", staged, [&](const StagedUpload& item) {
      const Upload& upload = item.upload;
      out.member("uri", pending_uri(upload.workspace_id, upload.id));
      out.member("name", upload.name);
      out.member("mimeType", upload.mimetype);
      out.member("size", upload.size);
      out.member("sha256", to_hex(upload.sha256));
      out.member("expires_at", upload.expires_at);
    });
  });
}

Error error_of(http::MultipartStatus status) {
  return status == http::MultipartStatus::field_too_large ? Error(errors::field_too_large)
                                                          : Error(errors::malformed_multipart);
}

// Connects http's multipart parser to the desk's staging.
class UploadBodySink final : public http::BodySink, private http::MultipartSink {
 public:
  UploadBodySink(std::unique_ptr<desk::Staging> staging, IdempotentRequest idempotent, std::string_view boundary)
      : staging_(std::move(staging)), idempotent_(std::move(idempotent)), parser_(boundary, *this) {}

  std::optional<http::Response> take(std::string_view bytes) override {
    const auto status = parser_.feed(bytes);
    if (status == http::MultipartStatus::ok) return std::nullopt;
    return answer(error_ ? *error_ : error_of(status));
  }

  http::Response finish() override {
    // A request that take() refused never gets here: the only possible fault is a missing end.
    if (parser_.finish() != http::MultipartStatus::ok) return answer(errors::malformed_multipart);
    // Without any file the answer is no_files, as for a form that has none.
    if (took_ && unnamed_) {
      return answer(
          Error(errors::malformed_multipart)
              .with_sentence("malformed multipart body: every part with the field name \"files\" needs a filename"));
    }
    if (auto known = idempotent_.look_up(staging_->digest())) return std::move(*known);
    http::Response response = idempotent_.perform<Staged>(
        [&](OptionalClaim<Staged> claim) { return staging_->commit(std::move(claim)); },
        [](const Result<Staged>& staged) { return staged ? staged_answer(*staged) : answer(staged.error()); });
    auto& later = *std::get<std::shared_ptr<http::Later>>(response.content);
    // Also for an answer that was given before: another server may have finished the same request meanwhile.
    later.answer = [staging = staging_, settled = std::move(later.answer)] {
      http::Response made = settled();
      staging->give_up();
      return made;
    };
    if (staging_->on_disk()) later.may_block = http::MayBlock::on_bytes;
    return response;
  }

 private:
  bool part_begin(const http::PartHeaders& headers) override {
    in_files_ = headers.name == "files";
    taking_ = in_files_ && headers.filename.has_value();
    took_ = took_ || taking_;
    return !taking_ || check(staging_->begin_file(*headers.filename, headers.content_type));
  }
  bool part_data(std::string_view bytes) override {
    // Without content it is what a form sends for no choice.
    if (in_files_ && !taking_) unnamed_ = true;
    return !taking_ || check(staging_->write(bytes));
  }
  bool part_end() override { return !std::exchange(taking_, false) || check(staging_->end_file()); }

  // False stops the parser; the client gets the error.
  bool check(const Result<void>& result) {
    if (result.has_value()) return true;
    error_ = result.error();
    return false;
  }

  const std::shared_ptr<desk::Staging> staging_;  // its commit may outlive this object
  IdempotentRequest idempotent_;
  http::MultipartParser parser_;
  std::optional<Error> error_;
  bool in_files_ = false;  // the current part is named "files"; parts of other names are ignored
  bool taking_ = false;    // the current part is staged
  bool took_ = false;
  bool unnamed_ = false;  // a part named "files" had content and no filename
};

Result<UploadDirection> direction_of(const http::Request& request) {
  const auto text = request.query_param("direction");
  if (!text) return UploadDirection::in;
  const auto direction = parse_upload_direction(*text);
  if (direction) return *direction;
  return bad_parameter("direction", "direction must be in or out");
}

}  // namespace

http::BodyHandling stage_uploads(const Context& context, const http::Request& request, WorkspaceId workspace,
                                 UploadDirection direction) {
  auto staging = context.uploads.stage(workspace, direction, caller(request));
  if (!staging) return answer(staging.error());
  const auto boundary = http::form_data_boundary(request.header("Content-Type"));
  if (!boundary) return answer(errors::malformed_multipart);
  IdempotentRequest idempotent(context, "POST /workspaces/:id/chat/uploads");
  if (auto refused = idempotent.enter(request)) return std::move(*refused);
  return std::make_unique<UploadBodySink>(std::move(*staging), std::move(idempotent), *boundary);
}

http::BodyHandling receive_uploads(const Context& context, http::Request& request) {
  const auto id = WorkspaceId::parse(request.param("id"));
  if (!id) return answer(bad_id("id"));
  const auto direction = direction_of(request);
  if (!direction) return answer(direction.error());
  if (*direction == UploadDirection::out && caller(request).role == Principal::Role::sender) {
    return answer(Error(errors::not_allowed).with_sentence("only the agent itself sends files out"));
  }
  const auto delivery = context.uploads.delivery(*id);
  if (!delivery) return answer(delivery.error());
  if (*direction == UploadDirection::in && *delivery == DeliveryMode::push) {
    const auto workspace = context.workspaces.find(*id);
    return workspace ? push_upload(context, request, *workspace) : answer(workspace.error());
  }
  return stage_uploads(context, request, *id, *direction);
}

http::Response upload_limits(const Context& context, http::Request&) {
  const desk::UploadRules& rules = context.uploads.rules();
  return object_answer(200, [&](JsonWriter& out) {
    out.member("per_file_bytes", static_cast<std::int64_t>(rules.per_file_bytes));
    out.member("per_request_bytes", static_cast<std::int64_t>(rules.per_request_bytes));
    out.member("max_files", static_cast<std::int64_t>(rules.max_files));
  });
}

}  // namespace restante::api
