#include "http/head_parser.h"

#include <array>

#include "base/text.h"

namespace restante::http {
namespace {

constexpr bool is_token_char(char c) {
  if (is_alpha(c) || is_digit(c)) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = 0; c < 256; ++c) table[static_cast<std::size_t>(c)] = c < 128 && is_token_char(static_cast<char>(c));
  return table;
}
constexpr auto kToken = make_token_table();

bool is_token(std::string_view text) {
  for (const char c : text) {
    if (!kToken[static_cast<unsigned char>(c)]) return false;
  }
  return !text.empty();
}

// Visible characters, blanks, and bytes above ASCII (names in UTF-8 are common); no controls.
bool is_field_value(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
  }
  return true;
}

bool is_target(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '#') return false;
  }
  return !text.empty();
}

bool is_host(std::string_view text) {
  for (const char c : text) {
    if (!is_alpha(c) && !is_digit(c) && std::string_view(".-_:[]%").find(c) == std::string_view::npos) return false;
  }
  return !text.empty() && text.size() <= 255;
}

// origin-form or absolute-form.
bool split_target(std::string_view target, Request& request) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const auto slash = target.find_first_of("/?");
    request.host = target.substr(0, slash);
    if (!is_host(request.host)) return false;
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    break;
  }
  if (target.front() != '/') return false;
  const auto question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  return true;
}

std::optional<Fault> parse_request_line(std::string_view line, Request& request) {
  const auto first = line.find(' ');
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || line.find(' ', second + 1) != std::string_view::npos)
    return faults::malformed;
  const std::string_view version = line.substr(second + 1);
  if (version == "HTTP/1.0") {
    request.http_1_0 = true;
    request.keep_alive = false;
  } else if (version != "HTTP/1.1") {
    return faults::malformed;
  }
  const std::string_view word = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  if (!is_token(word) || !is_target(target)) return faults::malformed;
  const auto method = kMethodNames.parse(word);
  // "*" asks about the server as a whole, which this server does not answer.
  if (!method || target == "*") return faults::unknown_method;
  request.method = *method;
  if (!split_target(target, request)) return faults::malformed;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_content_length(std::string_view text) {
  // Some parsers read "005" as octal; no honest client sends it.
  if (text.empty() || (text.size() > 1 && text.front() == '0') || !is_digit(text.front())) return std::nullopt;
  return parse_unsigned(text);
}

// What the headers contain about framing and the connection.
struct Framing {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t codings = 0;
  bool unknown_coding = false;
  bool close = false;
};

std::optional<Fault> note_header(std::string_view name, std::string_view value, Request& request, Framing& framing) {
  switch (name.size()) {
    case 4:
      if (!equal_ignoring_case(name, "Host")) break;
      ++framing.hosts;
      if (!is_host(value)) return faults::malformed;
      if (request.host.empty()) request.host = value;
      break;
    case 6:
      if (!equal_ignoring_case(name, "Expect")) break;
      if (!equal_ignoring_case(value, "100-continue")) return faults::bad_expect;
      request.expect_continue = !request.http_1_0;
      break;
    case 10:
      if (!equal_ignoring_case(name, "Connection")) break;
      for (const std::string_view option : split(value, ',')) {
        if (equal_ignoring_case(trim(option), "close")) framing.close = true;
        if (request.http_1_0 && equal_ignoring_case(trim(option), "keep-alive")) request.keep_alive = true;
      }
      if (framing.close) request.keep_alive = false;
      break;
    case 14:
      if (!equal_ignoring_case(name, "Content-Length")) break;
      ++framing.lengths;
      request.content_length = parse_content_length(value);
      if (!request.content_length) return faults::malformed;
      break;
    case 16:
      if (equal_ignoring_case(name, "Content-Encoding") && !equal_ignoring_case(value, "identity")) {
        return faults::encoded_body;
      }
      break;
    case 17:
      if (!equal_ignoring_case(name, "Transfer-Encoding")) break;
      ++framing.codings;
      request.chunked = equal_ignoring_case(value, "chunked");
      if (!request.chunked) framing.unknown_coding = true;
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::optional<Fault> check_framing(const Request& request, const Framing& framing) {
  if (framing.hosts > 1) return faults::several_hosts;
  if (framing.hosts == 0 && !request.http_1_0) return faults::no_host;
  if (framing.lengths > 1 || framing.codings > 1) return faults::malformed;
  if (framing.codings > 0 && (framing.lengths > 0 || request.http_1_0)) return faults::malformed;
  if (framing.unknown_coding) return faults::unknown_coding;
  return std::nullopt;
}

}  // namespace

HeadScanner::Outcome HeadScanner::scan(std::string_view buffer, const Limits& limits) {
  for (;;) {
    // Only a method can start a request: a TLS hello or other binary data is refused at its first byte.
    if (lines_ == 0 && line_start_ < buffer.size()) {
      const char c = buffer[line_start_];
      if (!kToken[static_cast<unsigned char>(c)] && c != '\r') return {0, faults::malformed};
    }
    const auto newline = buffer.find('\n', seen_);
    seen_ = newline == std::string_view::npos ? buffer.size() : newline + 1;
    const std::string_view line = buffer.substr(line_start_, seen_ - line_start_);
    const bool empty = line == "\r\n";
    // Limits are checked before the end of the line, so that the fault does not depend on how the bytes were split.
    if (lines_ == 0 && line.size() > limits.request_line + 2) return {0, faults::uri_too_long};
    if (lines_ > 0 && !empty && line != "\r" && seen_ - request_line_end_ > limits.header_bytes)
      return {0, faults::headers_too_large};
    if (newline == std::string_view::npos) return {};
    if (!line.ends_with("\r\n")) return {0, faults::malformed};
    line_start_ = seen_;
    if (empty) {
      // One empty line before the request line is tolerated, as RFC 9112 asks; a second one is not.
      if (lines_ > 0) return {seen_, std::nullopt};
      if (seen_ > 2) return {0, faults::malformed};
      continue;
    }
    if (lines_ == 0) request_line_end_ = seen_;
    if (lines_ > limits.header_count) return {0, faults::headers_too_large};
    ++lines_;
  }
}

std::optional<Fault> parse_head(std::string_view head, const Limits& limits, Request& request) {
  if (head.substr(0, 2) == "\r\n") head.remove_prefix(2);
  request.head.assign(head);
  std::string_view rest = request.head;
  const auto next_line = [&rest] {
    const auto end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    return line;
  };
  if (rest.size() < 4 || rest.substr(rest.size() - 4) != "\r\n\r\n") return faults::malformed;
  if (const auto fault = parse_request_line(next_line(), request)) return fault;
  Framing framing;
  request.headers.reserve(8);
  for (std::string_view line = next_line(); !line.empty(); line = next_line()) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return faults::malformed;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    // A folded line begins with a blank, so its name is not a token.
    if (!is_token(name) || !is_field_value(value)) return faults::malformed;
    if (request.headers.size() == limits.header_count) return faults::headers_too_large;
    request.headers.emplace_back(name, value);
    if (const auto fault = note_header(name, value, request, framing)) return fault;
  }
  if (!rest.empty()) return faults::malformed;
  return check_framing(request, framing);
}

}  // namespace restante::http
