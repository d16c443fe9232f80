// The first line of an input is a Content-Type, the rest a body. Promises: cutting the body anywhere changes nothing,
// spans point into the input or are the beginning of a delimiter, events alternate, limits hold, and the parts can be
// written and read back as the same parts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/oracle.h"
#include "http/media_type.h"
#include "http/multipart.h"

namespace {

using namespace restante::http;

struct Part {
  PartHeaders headers;
  std::string data;
  bool ended = false;
};

class Recorder final : public MultipartSink {
 public:
  bool part_begin(const PartHeaders& headers) override {
    ORACLE(parts.empty() || parts.back().ended);
    parts.push_back({headers, "", false});
    return true;
  }
  bool part_data(std::string_view span) override {
    ORACLE(!span.empty() && !parts.empty() && !parts.back().ended);
    ORACLE(inside(span) || delimiter.find(span) != std::string::npos);
    parts.back().data += span;
    return true;
  }
  bool part_end() override {
    ORACLE(!parts.empty() && !parts.back().ended);
    parts.back().ended = true;
    return true;
  }

  std::vector<Part> parts;
  std::string_view fed;
  std::string delimiter;

 private:
  bool inside(std::string_view span) const {
    const std::less_equal<const char*> ordered;
    return ordered(fed.data(), span.data()) && ordered(span.data() + span.size(), fed.data() + fed.size());
  }
};

struct Outcome {
  MultipartStatus status;
  std::vector<Part> parts;
};

// Each piece is a separate buffer, so that the address sanitizer finds a read beyond it or a span kept too long.
template <typename NextSize>
Outcome parse(std::string_view body, const std::string& boundary, const MultipartLimits& limits, NextSize next_size) {
  Recorder sink;
  sink.delimiter = "\r\n--" + boundary + "--";
  MultipartParser parser(boundary, sink, limits);
  while (!body.empty()) {
    const std::vector<char> piece(body.begin(), body.begin() + std::min<std::size_t>(next_size(), body.size()));
    sink.fed = {piece.data(), piece.size()};
    parser.feed(sink.fed);
    body.remove_prefix(piece.size());
  }
  const MultipartStatus status = parser.finish();
  return {status, std::move(sink.parts)};
}

void expect_same(const Outcome& a, const Outcome& b) {
  ORACLE(a.status == b.status);
  ORACLE(a.parts.size() == b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    ORACLE(a.parts[i].headers.name == b.parts[i].headers.name);
    ORACLE(a.parts[i].headers.filename == b.parts[i].headers.filename);
    ORACLE(a.parts[i].headers.content_type == b.parts[i].headers.content_type);
    ORACLE(a.parts[i].data == b.parts[i].data);
    ORACLE(a.parts[i].ended == b.parts[i].ended);
  }
}

void expect_limits(const Outcome& outcome, const MultipartLimits& limits) {
  ORACLE(outcome.status != MultipartStatus::stopped);
  ORACLE(outcome.parts.size() <= limits.parts);
  for (const Part& part : outcome.parts) {
    ORACLE(part.headers.filename || part.data.size() <= limits.field_bytes);
    ORACLE(!part.headers.filename || part.headers.filename->size() <= limits.filename_bytes);
    ORACLE(part.ended || outcome.status != MultipartStatus::ok);
  }
}

// No value when the text cannot be written between quotes: literal escapes and control bytes come from `filename*`
// only.
std::optional<std::string> quoted(std::string_view text) {
  for (const std::string_view escape : {"%22", "%0D", "%0A"}) {
    if (text.find(escape) != std::string_view::npos) return std::nullopt;
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"')
      out += "%22";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out + "\"";
}

std::optional<std::string> written(const std::vector<Part>& parts, const std::string& boundary) {
  std::string out;
  for (const Part& part : parts) {
    const auto name = quoted(part.headers.name);
    const auto filename = quoted(part.headers.filename.value_or(""));
    if (!name || !filename) return std::nullopt;
    out += "--" + boundary + "\r\nContent-Disposition: form-data; name=" + *name;
    if (part.headers.filename) out += "; filename=" + *filename;
    out += "\r\nContent-Type: " + part.headers.content_type + "\r\n\r\n" + part.data + "\r\n";
  }
  return out + "--" + boundary + "--\r\n";
}

// Small limits, so that small inputs reach them.
MultipartLimits small() {
  return {.preamble_bytes = 8,
          .header_bytes = 128,
          .header_lines = 3,
          .parts = 4,
          .filename_bytes = 16,
          .field_bytes = 8,
          .epilogue_bytes = 8};
}

void check(std::string_view body, const std::string& boundary, const MultipartLimits& limits, std::size_t seed) {
  const auto whole = parse(body, boundary, limits, [&] { return body.size(); });
  expect_limits(whole, limits);
  expect_same(whole, parse(body, boundary, limits, [] { return std::size_t{1}; }));
  expect_same(whole, parse(body, boundary, limits, [&seed] {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                return (seed >> 33) % 9 + 1;
              }));
  const std::size_t cut = body.empty() ? 0 : seed % body.size() + 1;
  expect_same(whole, parse(body, boundary, limits, [&] { return cut; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string boundary = form_data_boundary(input.substr(0, line)).value_or("b");
  const std::string_view body = input.substr(std::min(line + 1, input.size()));
  check(body, boundary, {}, std::hash<std::string_view>{}(input));
  check(body, boundary, small(), std::hash<std::string_view>{}(input));

  const auto first = parse(body, boundary, {}, [&] { return body.size(); });
  const auto again = first.status == MultipartStatus::ok ? written(first.parts, boundary) : std::nullopt;
  // Writing may add blanks and quotes to a header block that was at its limit.
  const MultipartLimits roomy{.header_bytes = 16 * 1024};
  if (again) expect_same(first, parse(*again, boundary, roomy, [&] { return again->size(); }));
  return 0;
}
