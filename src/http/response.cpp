#include "http/response.h"

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
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

}  // namespace restante::http
