#include "api/answers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "http/media_type.h"
#include "model/delegation.h"
#include "model/errors.h"
#include "model/workspace_rules.h"

namespace restante::api {
namespace {

// By ErrorClass, in its order.
constexpr std::array kStatuses = {400, 401, 403, 404, 409, 410, 413, 415, 421, 422, 429, 500, 502, 503, 507};
static_assert(kStatuses.size() == static_cast<std::size_t>(ErrorClass::storage_full) + 1);

constexpr int kUsualPage = 100;
constexpr int kMaxPage = 1000;

int status_of(ErrorClass error_class) { return kStatuses.at(static_cast<std::size_t>(error_class)); }

// Also protects against forms of other pages: a browser cannot send this type across origins without a preflight
// request.
bool is_json(std::string_view content_type) {
  const auto type = http::parse_media_type(content_type);
  if (!type || type->type != "application" || (type->subtype != "json" && !type->subtype.ends_with("+json")))
    return false;
  for (const auto& parameter : type->parameters) {
    if (equal_ignoring_case(parameter.name, "charset") && !equal_ignoring_case(parameter.value, "utf-8")) return false;
  }
  return true;
}

}  // namespace

http::Response answer(const Error& error) {
  http::Response response = object_answer(status_of(error.error_class()), [&](JsonWriter& out) {
    out.member("error", error.sentence());
    out.member("code", error.code());
    for (const Fact& fact : error.facts()) {
      std::visit([&](const auto& value) { out.member(fact.name, value); }, fact.value);
    }
  });
  if (error.error_class() == ErrorClass::unauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (response.status == 429 || response.status == 503) {
    const auto& facts = error.facts();
    const auto known = std::find_if(facts.begin(), facts.end(), [](const Fact& f) { return f.name == "retry_after"; });
    const std::int64_t seconds = known == facts.end() ? 1 : std::get<std::int64_t>(known->value);
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  return response;
}

http::Response precondition_failed() {
  return http::json(412, R"({"error":"the file is not the version that If-Match names","code":"precondition_failed"})");
}

Result<Json> json_body(const http::Request& request, BodyMay body) {
  if (request.body.empty() && body == BodyMay::be_absent) return Json::object();
  if (!is_json(request.header("Content-Type"))) return errors::json_expected;
  auto parsed = parse_json(request.body);
  if (!parsed) {
    if (parsed.error() == JsonFault::nul_not_allowed) return errors::nul_not_allowed;
    return errors::bad_json;
  }
  if (!parsed->if_object()) return Error(errors::bad_json).with_sentence("the body must be a JSON object");
  return std::move(*parsed);
}

Result<Json> heartbeat_body(const http::Request& request) {
  auto body = json_body(request, BodyMay::be_absent);
  if (body || !body.error().is(errors::json_expected)) return body;
  auto parsed = parse_json(request.body);
  return parsed && parsed->if_object() ? std::move(*parsed) : Json::object();
}

Error bad_field(std::string_view name, std::string sentence) {
  return Error(errors::bad_field, {{"field", std::string(name)}}).with_sentence(std::move(sentence));
}

Error bad_parameter(std::string_view name, std::string sentence) {
  return Error(errors::bad_parameter, {{"field", std::string(name)}}).with_sentence(std::move(sentence));
}

Error bad_id(std::string_view name) { return Error(errors::bad_id, {{"field", std::string(name)}}); }

Error not_one_of(const ErrorKind& kind, std::string_view name, std::string allowed) {
  std::string sentence = fmt::format("{} must be one of {}", name, allowed);
  return Error(kind, {{"field", std::string(name)}, {"allowed", std::move(allowed)}})
      .with_sentence(std::move(sentence));
}

void Fields::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

const Json* Fields::find(std::string_view name) const {
  const Json* member = body_.find(name);
  return member && !member->is_null() ? member : nullptr;
}

std::optional<std::string> Fields::text(std::string_view name) {
  const Json* member = find(name);
  if (!member) return std::nullopt;
  if (member->if_string()) return *member->if_string();
  fail(bad_field(name, fmt::format("{} must be a text", name)));
  return std::nullopt;
}

std::string Fields::required_text(std::string_view name) {
  std::string text = this->text(name).value_or("");
  if (text.empty()) fail(bad_field(name, fmt::format("{} must be a text that is not empty", name)));
  return text;
}

std::string Fields::filled_text(std::string_view name) {
  const auto text = this->text(name);
  if (text && text->empty()) fail(bad_field(name, fmt::format("{} must not be empty", name)));
  return text.value_or("");
}

std::optional<std::int64_t> Fields::whole(std::string_view name) {
  const Json* member = find(name);
  const auto number = member ? member->integer() : std::nullopt;
  if (member && !number) fail(bad_field(name, fmt::format("{} must be a whole number", name)));
  return number;
}

std::optional<double> Fields::real(std::string_view name) {
  const Json* member = find(name);
  const auto number = member ? member->real() : std::nullopt;
  if (member && !number) fail(bad_field(name, fmt::format("{} must be a number", name)));
  return number;
}

bool Fields::flag(std::string_view name) {
  const Json* member = find(name);
  if (member && !member->if_boolean()) fail(bad_field(name, fmt::format("{} is true or false", name)));
  return member && member->if_boolean() && *member->if_boolean();
}

std::optional<Time> Fields::time(std::string_view name) {
  const auto text = this->text(name);
  const auto time = text ? parse_time(*text) : std::nullopt;
  if (text && !time) fail(bad_field(name, fmt::format("{} must be an RFC3339 time", name)));
  return time;
}

std::optional<std::string> Fields::object(std::string_view name) {
  const Json* member = find(name);
  if (!member) return std::nullopt;
  if (!member->if_object()) fail(bad_field(name, fmt::format("{} must be an object", name)));
  return member->dump();
}

std::optional<WorkspaceId> Fields::workspace(std::string_view name) {
  const std::string text = this->text(name).value_or("");
  const auto id = WorkspaceId::parse(text);
  if (!text.empty() && !id) fail(bad_id(name));
  return id;
}

std::optional<DeliveryMode> Fields::mode() {
  const std::string text = this->text("delivery_mode").value_or("");
  const auto mode = parse_delivery_mode(text);
  if (!text.empty() && !mode) fail(bad_field("delivery_mode", "delivery_mode must be push or poll"));
  return mode;
}

std::optional<std::string> delegation_in(const http::Request& request) {
  const std::string_view id = request.param("did");
  if (!is_delegation_id(id)) return std::nullopt;
  return std::string(id);
}

std::optional<std::string> Fields::callback() {
  auto url = text("url");
  if (url) url = callback_url(std::move(*url));
  return url;
}

std::optional<std::string> Fields::name() {
  auto name = text("name");
  if (name) name = tidy_name(*name);
  if (name && name->empty()) fail(bad_field("name", "name must be a text that is not empty"));
  return name;
}

const Principal& caller(const http::Request& request) { return std::any_cast<const Principal&>(request.caller); }

Result<Json::Array> attachment_parts(const Json& body) {
  Json::Array parts;
  const Json* attachments = body.find("attachments");
  if (!attachments || attachments->is_null()) return parts;
  if (!attachments->if_array()) return bad_field("attachments", "attachments must be a list");
  for (const Json& item : *attachments->if_array()) {
    Fields fields(item);
    Json file = Json::object(
        {{"uri", Json::string(fields.required_text("uri"))}, {"name", Json::string(fields.required_text("name"))}});
    const auto type = fields.text("mimeType");
    const auto same = fields.text("mime_type");
    if (type || same) file.set("mimeType", Json::string(type ? *type : *same));
    if (const auto size = fields.whole("size")) file.set("size", Json::number(*size));
    if (fields.error()) {
      return bad_field("attachments",
                       fmt::format("attachment[{}] must be an object with uri and name, and with mimeType and size, if "
                                   "it has them, of the right type",
                                   parts.size()));
    }
    parts.push_back(Json::object({{"kind", Json::string("file")}, {"file", std::move(file)}}));
  }
  return parts;
}

Result<WorkspacePage> workspace_page(const http::Request& request) {
  WorkspacePage page;
  const auto after = id_parameter<WorkspaceId>(request, "after");
  if (!after) return after.error();
  page.after = *after;
  const auto limit = request.query_param("limit");
  if (!limit && !page.after) return page;
  const auto wanted = parse_clamped(limit.value_or("")).value_or(0);
  page.limit = wanted <= 0 ? kUsualPage : static_cast<int>(std::min<std::int64_t>(wanted, kMaxPage));
  return page;
}

void add_next_page(http::Response& response, const WorkspacePage& page, const std::vector<Workspace>& listed) {
  if (!page.limit || std::ssize(listed) < *page.limit) return;
  response.headers.emplace_back("Restante-Next", listed.back().id.text());
}

}  // namespace restante::api
