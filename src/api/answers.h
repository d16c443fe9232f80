// Answers: from values to JSON responses, and from JSON bodies to values. The only place where an error becomes a
// status.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "http/request.h"
#include "http/response.h"
#include "model/ids.h"
#include "model/principal.h"
#include "model/workspace.h"

namespace restante::api {

http::Response answer(const Error& error);
// 412: If-Match names other versions of the file only.
http::Response precondition_failed();

// The JSON object in the body: json_expected, bad_json, nul_not_allowed. With be_absent an empty body is an object
// without members.
enum class BodyMay { be_absent, not_be_absent };
Result<Json> json_body(const http::Request& request, BodyMay body);
// The body of a heartbeat. It may be absent, and a JSON object counts with any Content-Type: a bare curl -X POST is a
// heartbeat.
Result<Json> heartbeat_body(const http::Request& request);

// A member or a query parameter that is not what the sentence says.
Error bad_field(std::string_view name, std::string sentence);
Error bad_parameter(std::string_view name, std::string sentence);
Error bad_id(std::string_view name);
// The same for a closed list of values, which is a fact of the error: `kind` is bad_field or bad_parameter.
Error not_one_of(const ErrorKind& kind, std::string_view name, std::string allowed);

// Reads the members of a body and keeps the first error: a handler reads all of them and checks once. Absent and null
// are the same. bad_field names a member of the wrong type.
class Fields {
 public:
  explicit Fields(const Json& body) : body_(body) {}

  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);
  // May be absent, but not empty.
  std::string filled_text(std::string_view name);
  std::optional<std::int64_t> whole(std::string_view name);
  std::optional<double> real(std::string_view name);
  bool flag(std::string_view name);
  std::optional<Time> time(std::string_view name);
  // An object, as JSON text.
  std::optional<std::string> object(std::string_view name);
  // Absent and empty are the same; bad_id when it is not a UUID.
  std::optional<WorkspaceId> workspace(std::string_view name);
  std::optional<DeliveryMode> mode();
  // `url`, as it is stored: empty for remote://….
  std::optional<std::string> callback();
  // `name` of a workspace, tidied. Present, it must not be empty.
  std::optional<std::string> name();

  // Keeps the error unless there is one already.
  void fail(Error error);
  const std::optional<Error>& error() const { return error_; }
  // The value that was read, or the first error.
  template <class T>
  Result<T> result(T value) const {
    if (error_) return *error_;
    return value;
  }

 private:
  const Json* find(std::string_view name) const;

  const Json& body_;
  std::optional<Error> error_;
};

// The ids in the path. The route has checked them before it calls the handler.
inline WorkspaceId workspace_in(const http::Request& request) {
  return WorkspaceId::parse(request.param("id")).value();
}
inline FileId file_in(const http::Request& request) { return FileId::parse(request.param("fid")).value(); }
inline TokenId token_in(const http::Request& request) { return TokenId::parse(request.param("tokenId")).value(); }
// Nothing when it cannot be an id of a delegation: the route does not check those.
std::optional<std::string> delegation_in(const http::Request& request);

// The query parameter of that name as an id; bad_id when it is not a UUID.
template <class AnyId>
Result<std::optional<AnyId>> id_parameter(const http::Request& request, std::string_view name) {
  const auto text = request.query_param(name);
  const auto id = AnyId::parse(text.value_or(""));
  if (text && !id) return bad_id(name);
  return id;
}

// `limit` and `after` of a list of workspaces. Clients that name neither get all of it, as they always did.
Result<WorkspacePage> workspace_page(const http::Request& request);
// Adds the header that names the last one of a full page: the next page begins after it.
void add_next_page(http::Response& response, const WorkspacePage& page, const std::vector<Workspace>& listed);

// The principal that the route's guard stored.
const Principal& caller(const http::Request& request);

// The object whose members `write(writer)` writes.
http::Response object_answer(int status, auto&& write) { return http::json(status, json_object(write)); }
// 200 and a list of objects; `write(writer, element)` writes the members of each.
http::Response list_answer(const auto& range, auto&& write) {
  JsonWriter out;
  out.array(range, [&](const auto& element) { out.object([&] { write(out, element); }); });
  return http::json(200, out.take());
}
// Makes an answer from a Result: 200 and the given JSON text, or its error.
inline auto fixed_answer(const char* text) {
  return [text](const auto& result) { return result ? http::json(200, text) : answer(result.error()); };
}

// A body's `attachments` as A2A file parts; empty when there are none. bad_field: each needs a uri and a name.
Result<Json::Array> attachment_parts(const Json& body);

}  // namespace restante::api
