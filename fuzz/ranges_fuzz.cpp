// The first line of an input is the size of a file with the tag "t", the others are the header lines of a GET and a
// HEAD. Promises: a part is within the file and reads back the same when it is written as a range; only a GET with one
// Range and at most one If-Range, which is the tag, gets a part or 416; whether the answer is 412 or 304 does not
// depend on the range.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fuzz/oracle.h"
#include "http/head_parser.h"
#include "http/ranges.h"

namespace {

using namespace restante;
using namespace restante::http;

constexpr std::string_view kTag = "\"t\"";

void check_part(const ByteRange& range, std::uint64_t size) {
  ORACLE(range.length > 0 && range.length <= size && range.offset <= size - range.length);
  FileConditions again;
  again.range = "bytes=" + std::to_string(range.offset) + "-" + std::to_string(range.offset + range.length - 1);
  again.if_range = kTag;
  const FileChoice same = choose_answer(again, kTag, size);
  ORACLE(same.answer == FileAnswer::part && same.range.offset == range.offset && same.range.length == range.length);
}

void check(const Request& request, std::uint64_t size) {
  const FileConditions conditions(request);
  const FileChoice choice = choose_answer(conditions, kTag, size);
  const bool ranged = choice.answer == FileAnswer::part || choice.answer == FileAnswer::unsatisfiable;
  if (choice.answer == FileAnswer::whole) ORACLE(choice.range.offset == 0 && choice.range.length == size);
  if (choice.answer == FileAnswer::part) check_part(choice.range, size);
  if (choice.answer == FileAnswer::precondition_failed) ORACLE(request.header_count("If-Match") > 0);
  if (choice.answer == FileAnswer::not_modified) ORACLE(request.header_count("If-None-Match") > 0);
  if (ranged) {
    ORACLE(request.method == Method::get && request.header_count("Range") == 1);
    ORACLE(request.header_count("If-Range") == 0 || request.header("If-Range") == kTag);
    ORACLE(request.header("Range").find(',') == std::string_view::npos);
  }

  // The same request without its conditions or without its range.
  FileConditions tags = conditions;
  tags.range.reset();
  const FileAnswer decided = choose_answer(tags, kTag, size).answer;
  ORACLE(decided == (ranged ? FileAnswer::whole : choice.answer));
  FileConditions only_range = conditions;
  only_range.if_match.reset();
  only_range.if_none_match.reset();
  const FileAnswer free = choose_answer(only_range, kTag, size).answer;
  if (decided == FileAnswer::whole) ORACLE(free == choice.answer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto lines = split(input, '\n');
  const std::uint64_t file_size = parse_unsigned(lines.front()).value_or(10);
  std::string headers = " / HTTP/1.1\r\nHost: h\r\n";
  for (std::size_t i = 1; i < lines.size(); ++i) headers += std::string(lines[i]) + "\r\n";
  for (const std::string_view method : {"GET", "HEAD"}) {
    Request request;
    if (!parse_head(std::string(method) + headers + "\r\n", {}, request)) check(request, file_size);
  }
  return 0;
}
