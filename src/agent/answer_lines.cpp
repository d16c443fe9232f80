#include "agent/answer_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include "base/json.h"
#include "base/text.h"

namespace restante::agent {
namespace {

constexpr std::size_t kLongestLine = 4 << 20;
constexpr std::array<std::string_view, 4> kMembers = {"reply_to", "text", "files", "failed"};

}  // namespace

void throw_exception_from_error(const BadAnswerLine& error, const boost::source_location&) {
  throw std::logic_error("unchecked error: " + error.sentence);
}

boost::system::result<AnswerLine, BadAnswerLine> parse_answer_line(std::string_view line) {
  const auto json = parse_json(line);
  if (json.has_error() || !json->if_object())
    return BadAnswerLine{R"(an answer is one JSON object on one line: {"reply_to":"…","text":"…","files":["…"]})"};
  for (const auto& [name, value] : *json->if_object()) {
    if (std::ranges::find(kMembers, name) == kMembers.end())
      return BadAnswerLine{"an answer has no member \"" + name + "\"; it has reply_to, text, files and failed"};
    const bool is_text = name == "reply_to" || name == "text";
    if (is_text && !value.if_string() && !value.is_null()) return BadAnswerLine{name + " must be a text"};
    if (name == "files" && !value.if_array() && !value.is_null()) return BadAnswerLine{"files must be a list of paths"};
    if (name == "failed" && !value.if_boolean()) return BadAnswerLine{"failed must be true or false"};
  }
  AnswerLine answer{json->text("reply_to"), json->text("text"), {}, json->flag("failed")};
  for (const Json& file : json->items("files")) {
    if (!file.if_string() || file.if_string()->empty()) return BadAnswerLine{"files must be a list of paths"};
    answer.files.push_back(*file.if_string());
  }
  if (answer.text.empty() && answer.files.empty()) return BadAnswerLine{"an answer needs a text or files"};
  return answer;
}

void read_lines(int descriptor, const Stop& stop, const std::function<void(std::string_view line)>& take) {
  std::string line;
  bool skipping = false;  // the rest of a line that was too long
  while (!stop.requested()) {
    pollfd entries[] = {{descriptor, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
    if (poll(entries, 2, -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    if (entries[0].revents == 0) continue;
    std::array<char, 64 * 1024> bytes;
    const auto got = read(descriptor, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    std::string_view rest(bytes.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      if (!skipping) line += rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      const bool too_long = line.size() > kLongestLine;
      if (end == std::string_view::npos && !too_long) continue;
      if (!skipping && !trim(line).empty()) take(line);
      skipping = too_long && end == std::string_view::npos;
      line.clear();
    }
  }
  if (!skipping && !trim(line).empty()) take(line);
}

}  // namespace restante::agent
