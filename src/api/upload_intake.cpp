// The receiving half of /chat/uploads: http's multipart parser on one side, the desk's staging on the other.
#include "api/answers.h"
#include "api/uploads.h"
#include "base/text.h"
#include "http/media_type.h"
#include "http/multipart.h"
#include "model/errors.h"

namespace restante::api {
namespace {

http::Response staged_answer(const std::vector<StagedUpload>& staged) {
  JsonWriter out;
  out.begin_object();
  out.key("files");
  out.begin_array();
  for (const StagedUpload& item : staged) {
    const Upload& upload = item.upload;
    out.begin_object();
    out.member("uri", pending_uri(upload.workspace_id, upload.id));
    out.member("name", upload.name);
    out.member("mimeType", upload.mimetype);
    out.member("size", upload.size);
    out.member("sha256", to_hex(upload.sha256));
    out.member("expires_at", format_time(upload.expires_at));
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return http::json(200, out.take());
}

Error error_of(http::MultipartStatus status) {
  return status == http::MultipartStatus::field_too_large ? Error(errors::field_too_large)
                                                          : Error(errors::malformed_multipart);
}

class UploadIntake final : public http::Intake, private http::MultipartSink {
 public:
  UploadIntake(std::unique_ptr<desk::Staging> staging, std::string boundary)
      : staging_(std::move(staging)), parser_(boundary, *this) {}

  std::optional<http::Response> take(std::string_view bytes) override {
    const auto status = parser_.feed(bytes);
    if (status == http::MultipartStatus::ok) return std::nullopt;
    return answer(error_ ? *error_ : error_of(status));
  }

  http::Response finish() override {
    const auto status = parser_.finish();
    if (status != http::MultipartStatus::ok) return answer(error_ ? *error_ : error_of(status));
    return http::after(staging_->commit(), [](Result<std::vector<StagedUpload>> staged) {
      return staged ? staged_answer(*staged) : answer(staged.error());
    });
  }

 private:
  bool part_begin(const http::PartHeaders& headers) override {
    taking_ = headers.name == "files" && headers.filename.has_value();
    return !taking_ || note(staging_->begin_file(*headers.filename, headers.content_type));
  }
  bool part_data(std::string_view bytes) override { return !taking_ || note(staging_->write(bytes)); }
  bool part_end() override { return !std::exchange(taking_, false) || note(staging_->end_file()); }

  // False stops the parser; the error is what the client is told.
  bool note(const Result<void>& result) {
    if (result.has_value()) return true;
    error_ = result.error();
    return false;
  }

  std::unique_ptr<desk::Staging> staging_;
  http::MultipartParser parser_;
  std::optional<Error> error_;
  bool taking_ = false;
};

// A body that is refused from its head: the answer comes with the first bytes, and none of them is looked at.
class Refusal final : public http::Intake {
 public:
  explicit Refusal(Error error) : error_(std::move(error)) {}
  std::optional<http::Response> take(std::string_view) override { return answer(error_); }
  http::Response finish() override { return answer(error_); }

 private:
  Error error_;
};

}  // namespace

std::unique_ptr<http::Intake> receive_uploads(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return std::make_unique<Refusal>(id.error());
  auto staging = context.uploads.stage(*id);
  if (!staging) return std::make_unique<Refusal>(staging.error());
  auto boundary = http::form_data_boundary(request.header("Content-Type"));
  if (!boundary) return std::make_unique<Refusal>(errors::malformed_multipart);
  return std::make_unique<UploadIntake>(std::move(*staging), std::move(*boundary));
}

http::Response upload_limits(const Context& context, http::Request&) {
  const desk::UploadRules& rules = context.uploads.rules();
  JsonWriter out;
  out.begin_object();
  out.member("per_file_bytes", static_cast<std::int64_t>(rules.per_file_bytes));
  out.member("per_request_bytes", static_cast<std::int64_t>(rules.per_request_bytes));
  out.member("max_files", static_cast<std::int64_t>(rules.max_files));
  out.end_object();
  return http::json(200, out.take());
}

}  // namespace restante::api
