// Answers: from values to JSON responses, and from JSON bodies to values. The only place where an error becomes a
// status.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "http/request.h"
#include "http/response.h"
#include "model/ids.h"
#include "model/principal.h"

namespace restante::api {

http::Response answer(const Error& error);

// The JSON object in the body: json_expected, bad_json, nul_not_allowed. With be_absent an empty body is an object
// without members.
enum class BodyMay { be_absent, not_be_absent };
Result<Json> json_body(const http::Request& request, BodyMay body);
// The body of a heartbeat. It may be absent, and a JSON object counts with any Content-Type: a bare curl -X POST is a
// heartbeat.
Result<Json> heartbeat_body(const http::Request& request);

// A member of that type; absent and null are the same. bad_field names it when the type is wrong.
Result<std::optional<std::string>> text_field(const Json& object, std::string_view name);
Result<std::string> required_text(const Json& object, std::string_view name);
Result<std::optional<std::int64_t>> whole_field(const Json& object, std::string_view name);

// The path parameter of that name as an id; bad_id when it is not a UUID.
template <class AnyId>
Result<AnyId> id_param(const http::Request& request, std::string_view name);

// The principal that the route's guard stored.
const Principal& caller(const http::Request& request);

void write_time(JsonWriter& out, std::string_view name, const std::optional<Time>& time);
// The text, or null when it is empty.
void write_text(JsonWriter& out, std::string_view name, std::string_view text);

// --- below: templates only
Error bad_id(std::string_view name);

template <class AnyId>
Result<AnyId> id_param(const http::Request& request, std::string_view name) {
  const auto id = AnyId::parse(request.param(name));
  if (!id) return bad_id(name);
  return *id;
}

}  // namespace restante::api
