#include "http/response.h"

#include <utility>

namespace restante::http {

Response json(int status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = kJson;
  response.content = std::move(body);
  return response;
}

namespace {
template <class T>
Response deferred(T value) {
  Response response;
  response.content = std::make_shared<T>(std::move(value));
  return response;
}
}  // namespace

Response from_bytes(std::function<Response()> answer) {
  return deferred(Later{[](const std::function<void()>& done) { done(); }, std::move(answer), MayBlock::on_bytes});
}

Response held_poll(HeldPoll value) { return deferred(std::move(value)); }
Response events(Events value) { return deferred(std::move(value)); }
Response forward(Forward value) { return deferred(std::move(value)); }

std::string_view reason(int status) {
  static constexpr std::pair<int, std::string_view> kReasons[] = {
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {507, "Insufficient Storage"},
  };
  for (const auto& [code, text] : kReasons) {
    if (code == status) return text;
  }
  return "Unknown";
}

}  // namespace restante::http
