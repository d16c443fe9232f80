// The first byte chooses small or real limits, the rest are the bytes of a connection. Promises: any split of them
// gives the same result. An accepted head has no control byte, points into its own bytes, has at most one framing and
// one host, keeps the limits, and reads back as the same request when it is written again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fuzz/oracle.h"
#include "http/head_parser.h"

namespace {

using namespace restante;
using namespace restante::http;

struct Outcome {
  std::size_t head_size = 0;
  int status = 0;
  bool operator==(const Outcome&) const = default;
};

template <class Step>
Outcome scan(std::string_view bytes, const Limits& limits, Step step) {
  HeadScanner scanner;
  for (std::size_t size = 0;;) {
    size = std::min(size + step(), bytes.size());
    const auto outcome = scanner.scan(bytes.substr(0, size), limits);
    ORACLE(outcome.head_size <= size && !(outcome.fault && outcome.head_size > 0));
    if (outcome.fault) return {0, outcome.fault->status};
    if (outcome.head_size > 0) return {outcome.head_size, 0};
    if (size == bytes.size()) return {};
  }
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text,
                             [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

void check_inside(std::string_view view, const Request& request) {
  const std::less_equal<const char*> ordered;
  const std::string& head = request.head;
  ORACLE(view.empty() ||
         (ordered(head.data(), view.data()) && ordered(view.data() + view.size(), head.data() + head.size())));
  ORACLE(!has_control(view));
}

void check_fields(const Request& request, const Limits& limits) {
  ORACLE(request.headers.size() <= limits.header_count);
  for (const auto& [name, value] : request.headers) {
    check_inside(name, request);
    check_inside(value, request);
    ORACLE(!name.empty() && name.find_first_of(" \t:") == std::string_view::npos && trim(value) == value);
  }
  // An absolute target may have no path.
  if (request.path != "/") check_inside(request.path, request);
  check_inside(request.query, request);
  check_inside(request.host, request);
  ORACLE(request.path.starts_with('/') && request.path.find_first_of(" ?#") == std::string_view::npos);
  ORACLE(request.query.find_first_of(" #") == std::string_view::npos);
  ORACLE(request.host.find_first_of(" \t/@,\\?#") == std::string_view::npos);
}

void check_framing(const Request& request) {
  const auto lengths = request.header_count("Content-Length");
  const auto codings = request.header_count("Transfer-Encoding");
  ORACLE(lengths + codings <= 1 && request.header_count("Host") <= 1);
  ORACLE(request.content_length.has_value() == (lengths == 1) && request.chunked == (codings == 1));
  if (lengths == 1) ORACLE(request.header("Content-Length") == std::to_string(*request.content_length));
  if (codings == 1) ORACLE(lower_case(request.header("Transfer-Encoding")) == "chunked" && !request.http_1_0);
  ORACLE(request.http_1_0 || (request.header_count("Host") == 1 && !request.host.empty()));
}

std::string written(const Request& request) {
  std::string out(name_of(request.method));
  out += " " + std::string(request.path);
  // "/a?" and "/a" differ in their bytes alone.
  if (!request.query.empty()) out += "?" + std::string(request.query);
  out += request.http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  for (const auto& [name, value] : request.headers) {
    const bool host = equal_ignoring_case(name, "Host");
    out += std::string(name) + ": " + std::string(host ? request.host : value) + "\r\n";
  }
  return out + "\r\n";
}

void check_same(const Request& a, const Request& b) {
  ORACLE(a.method == b.method && a.path == b.path && a.query == b.query && a.http_1_0 == b.http_1_0);
  ORACLE(a.headers.size() == b.headers.size() && a.keep_alive == b.keep_alive);
  ORACLE(a.expect_continue == b.expect_continue && a.chunked == b.chunked && a.content_length == b.content_length);
  // In HTTP/1.0 an absolute target may name a host that no header repeats.
  ORACLE(a.host == b.host || a.header_count("Host") == 0);
  for (std::size_t i = 0; i < a.headers.size(); ++i) {
    ORACLE(a.headers[i].first == b.headers[i].first);
    ORACLE(a.headers[i].second == b.headers[i].second || equal_ignoring_case(a.headers[i].first, "Host"));
  }
}

void check(std::string_view bytes, const Limits& limits) {
  const Outcome whole = scan(bytes, limits, [&] { return bytes.size(); });
  ORACLE(scan(bytes, limits, [] { return std::size_t{1}; }) == whole);
  std::size_t seed = std::hash<std::string_view>{}(bytes);
  ORACLE(scan(bytes, limits, [&seed] {
           seed = seed * 6364136223846793005u + 1442695040888963407u;
           return (seed >> 33) % 40 + 1;
         }) == whole);

  Request any;
  parse_head(bytes, limits, any);
  if (whole.head_size == 0) return;
  Request request;
  if (parse_head(bytes.substr(0, whole.head_size), limits, request)) return;
  ORACLE(request.head.ends_with("\r\n\r\n") && request.head.find("\r\n\r\n") == request.head.size() - 4);
  check_fields(request, limits);
  check_framing(request);
  const std::string again = written(request);
  Request same;
  ORACLE(!parse_head(again, limits, same));
  check_same(request, same);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  Limits limits;
  if (input.front() % 2 == 1)
    limits = {.request_line = 24, .header_bytes = 48, .header_count = 3, .json_body = 0, .stream_body = 0};
  check(input.substr(1), limits);
  return 0;
}
