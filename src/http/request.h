// Request: one HTTP request as handlers see it. parse_head fills it; the views point into `head`, which it owns, so
// they stay valid for its whole life. For the same reason it is never copied or moved. Belongs to its connection; one
// thread at a time.
#pragma once
#include <any>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"

namespace restante::http {

enum class Method { get, head, post, put, patch, delete_, options };
constexpr std::size_t kMethods = 7;

inline constexpr Names<Method, Method::options> kMethodNames{"GET",   "HEAD",   "POST",   "PUT",
                                                             "PATCH", "DELETE", "OPTIONS"};
constexpr std::string_view name_of(Method method) { return kMethodNames.of(method); }

struct Request {
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::string head;  // the bytes that all views below point into

  Method method = Method::get;
  std::string_view path;   // as sent, up to the '?'
  std::string_view query;  // after the '?', raw
  std::string_view host;   // from the target's authority or the Host header; empty only in HTTP/1.0
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  bool http_1_0 = false;
  bool keep_alive = true;
  bool expect_continue = false;
  bool chunked = false;
  std::optional<std::uint64_t> content_length;

  std::string body;  // of routes that read the body into memory
  // set by the router: name in the pattern, decoded value
  std::vector<std::pair<std::string_view, std::string>> path_params;

  std::string request_id;
  std::string peer;     // the client's address, after the headers of trusted proxies
  bool secure = false;  // TLS here or at a trusted proxy
  std::any caller;      // the principal: set by the route's guard, read by its handler
  // The token that the route's guard has verified, by a name; a session has that of its token. Empty: none was.
  std::string client;

  bool has_body() const { return chunked || (content_length && *content_length > 0); }
  // First header of that name, any letter case; empty when absent.
  std::string_view header(std::string_view name) const;
  std::size_t header_count(std::string_view name) const;
  // Every header of that name as one list, as RFC 9110 reads them: a proxy may add a line instead of an entry.
  std::string header_list(std::string_view name) const;
  // The decoded parameter of the path; empty when the pattern has none of that name.
  std::string_view param(std::string_view name) const;
  // Whether every percent escape of the query is complete and the decoded text is valid.
  bool has_sound_query() const;
  // The decoded query parameter, first of that name; nothing when absent, or when the query is not sound.
  std::optional<std::string> query_param(std::string_view name) const;
  // The W3C trace context when the header is valid; empty otherwise.
  std::string_view traceparent() const;
};

}  // namespace restante::http
