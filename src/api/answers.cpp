#include "api/answers.h"

#include <algorithm>

#include "base/text.h"
#include "http/media_type.h"
#include "model/errors.h"

namespace restante::api {
namespace {

int status_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::bad_request:
      return 400;
    case ErrorClass::unauthenticated:
      return 401;
    case ErrorClass::forbidden:
      return 403;
    case ErrorClass::not_found:
      return 404;
    case ErrorClass::conflict:
      return 409;
    case ErrorClass::gone:
      return 410;
    case ErrorClass::too_large:
      return 413;
    case ErrorClass::unsupported_media:
      return 415;
    case ErrorClass::misdirected:
      return 421;
    case ErrorClass::unprocessable:
      return 422;
    case ErrorClass::too_many:
      return 429;
    case ErrorClass::broken:
      return 500;
    case ErrorClass::bad_gateway:
      return 502;
    case ErrorClass::unavailable:
      return 503;
    case ErrorClass::storage_full:
      return 507;
  }
  return 500;
}

Error bad_field(std::string_view name, std::string_view wanted) {
  return Error(errors::bad_field, {{"field", std::string(name)}})
      .with_sentence(std::string(name) + " must be " + std::string(wanted));
}

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
  JsonWriter out;
  out.begin_object();
  out.member("error", error.sentence());
  out.member("code", error.code());
  for (const Fact& fact : error.facts()) {
    if (const auto* number = std::get_if<std::int64_t>(&fact.value)) out.member(fact.name, *number);
    if (const auto* text = std::get_if<std::string>(&fact.value)) out.member(fact.name, *text);
  }
  out.end_object();
  http::Response response = http::json(status_of(error.error_class()), out.take());
  if (error.error_class() == ErrorClass::unauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (response.status == 429 || response.status == 503) {
    const auto& facts = error.facts();
    const auto known = std::find_if(facts.begin(), facts.end(), [](const Fact& f) { return f.name == "retry_after"; });
    const std::int64_t seconds = known == facts.end() ? 1 : std::get<std::int64_t>(known->value);
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  return response;
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

Result<std::optional<std::string>> text_field(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  if (!member || member->is_null()) return std::optional<std::string>();
  if (!member->if_string()) return bad_field(name, "a text");
  return std::optional<std::string>(*member->if_string());
}

Result<std::string> required_text(const Json& object, std::string_view name) {
  const auto text = text_field(object, name);
  if (!text) return text.error();
  if (!*text || (*text)->empty()) return bad_field(name, "a text that is not empty");
  return **text;
}

Result<std::optional<std::int64_t>> whole_field(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  if (!member || member->is_null()) return std::optional<std::int64_t>();
  const auto number = member->integer();
  if (!number) return bad_field(name, "a whole number");
  return number;
}

Error bad_id(std::string_view name) { return Error(errors::bad_id, {{"field", std::string(name)}}); }

const Principal& caller(const http::Request& request) { return std::any_cast<const Principal&>(request.caller); }

void write_time(JsonWriter& out, std::string_view name, const std::optional<Time>& time) {
  out.key(name);
  if (time) {
    out.string(format_time(*time));
  } else {
    out.null();
  }
}

void write_text(JsonWriter& out, std::string_view name, std::string_view text) {
  out.key(name);
  if (text.empty()) {
    out.null();
  } else {
    out.string(text);
  }
}

}  // namespace restante::api
