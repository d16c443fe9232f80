// Request: one HTTP request as handlers see it. Filled by parse_head from bytes it owns itself, so views stay valid for
// its whole life; for the same reason it is never copied or moved. Belongs to its connection; one thread at a time.
#pragma once
#include <any>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace restante::http {

enum class Method { get, head, post, put, patch, delete_, options };
constexpr std::size_t kMethods = 7;

std::string_view name_of(Method method);

struct Request {
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::string head;  // the bytes everything below looks into

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

  std::string body;                                                   // for routes that take one into memory
  std::vector<std::pair<std::string_view, std::string>> path_params;  // by the router: name in the pattern, decoded

  std::string request_id;
  std::string peer;     // address of the client, forwarded headers of trusted proxies considered
  bool secure = false;  // TLS here or at a trusted proxy
  std::any caller;      // who asks: set by the route's guard, read by its handler

  bool has_body() const { return chunked || (content_length && *content_length > 0); }
  // First header of that name, any letter case; empty when absent.
  std::string_view header(std::string_view name) const;
  std::size_t header_count(std::string_view name) const;
  // Every header of that name as one list, as RFC 9110 reads them: a proxy may add a line instead of an entry.
  std::string header_list(std::string_view name) const;
  // The decoded parameter of the path; empty when the pattern has none of that name.
  std::string_view param(std::string_view name) const;
  // Every percent escape of the query is whole, and what they stand for is text.
  bool has_sound_query() const;
  // The decoded query parameter, first of that name; nothing when absent, or when the query is not sound.
  std::optional<std::string> query_param(std::string_view name) const;
  // The W3C trace context, when it is one; empty otherwise.
  std::string_view traceparent() const;
};

}  // namespace restante::http
