#include "api/uploads.h"

#include "api/answers.h"
#include "api/handlers.h"
#include "api/upload_push.h"
#include "model/errors.h"

namespace restante::api {
namespace {

Result<UploadDirection> direction_of(const http::Request& request) {
  const auto text = request.query_param("direction");
  if (!text) return UploadDirection::in;
  const auto direction = parse_upload_direction(*text);
  if (direction) return *direction;
  return bad_parameter("direction", "direction must be in or out");
}

}  // namespace

http::BodyHandling receive_uploads(const Context& context, http::Request& request) {
  const auto id = WorkspaceId::parse(request.param("id"));
  if (!id) return answer(bad_id("id"));
  const auto direction = direction_of(request);
  if (!direction) return answer(direction.error());
  if (*direction == UploadDirection::out && caller(request).role == Principal::Role::sender) {
    return answer(Error(errors::not_allowed).with_sentence("only the agent itself sends files out"));
  }
  const auto delivery = context.workspaces.delivery(*id);
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
