#include "store/postgres/news.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace restante::postgres {
namespace {

constexpr std::size_t kMostBytes = 7'900;

// Takes what stands before the separator, and the separator; all of it when there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

template <class AnyId>
std::optional<AnyId> take_id(std::string_view& text) {
  return AnyId::parse(take_until(text, ' '));
}

std::int64_t take_number(std::string_view& text) {
  const auto part = take_until(text, ' ');
  std::int64_t number = 0;
  std::from_chars(part.data(), part.data() + part.size(), number);
  return number;
}

void read_line(std::string_view line, Announcements::Listener& to) {
  const auto kind = take_until(line, ' ');
  if (kind == "token") {
    if (const auto token = take_id<TokenId>(line)) to.revoked(*token);
    return;
  }
  const auto workspace = take_id<WorkspaceId>(line);
  if (!workspace) return;
  if (kind == "log") {
    const auto first = take_number(line);
    to.appended(*workspace, first, take_number(line));
  } else if (kind == "workspace") {
    to.changed(*workspace);
  } else if (kind == "event") {
    const auto name = take_until(line, ' ');
    to.happened({*workspace, std::string(name), std::string(line)});
  }
}

}  // namespace

std::vector<std::string> News::texts(const Uuid& instance) const {
  std::vector<std::string> all;
  const auto add = [&](const std::string& line) {
    if (all.empty() || all.back().size() + line.size() > kMostBytes) all.push_back(instance.text());
    all.back() += "\n" + line;
  };
  for (const auto& token : revoked) add("token " + token.text());
  for (const auto& workspace : changed) add("workspace " + workspace.text());
  for (const auto& workspace : pruned) add("pruned " + workspace.text());
  for (const auto& [workspace, rows] : appended) {
    add(fmt::format("log {} {} {}", workspace.text(), rows.first, rows.second));
  }
  return all;
}

News news_of(std::string_view text) {
  News news;
  take_until(text, '\n');
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    const auto kind = take_until(line, ' ');
    if (kind == "token") {
      if (const auto token = take_id<TokenId>(line)) news.revoked.insert(*token);
      continue;
    }
    const auto workspace = take_id<WorkspaceId>(line);
    if (!workspace) continue;
    if (kind == "log") {
      const auto first = take_number(line);
      news.appended[*workspace] = {first, take_number(line)};
    } else if (kind == "workspace") {
      news.changed.insert(*workspace);
    } else if (kind == "pruned") {
      news.pruned.insert(*workspace);
    }
  }
  return news;
}

std::string text_of(const Uuid& instance, const Happening& happening) {
  std::string text =
      fmt::format("{}\nevent {} {} {}", instance.text(), happening.workspace.text(), happening.name, happening.data);
  // A line of data that is JSON has no line ends of its own.
  if (text.size() > kMostBytes || happening.data.find('\n') != std::string::npos) text.clear();
  return text;
}

std::string looking_on(const Uuid& instance) { return instance.text() + "\nlooking-on"; }

bool read_text(std::string_view text, const Uuid& instance, Announcements& to) {
  const auto from = Uuid::parse(take_until(text, '\n'));
  if (!from || *from == instance) return false;
  if (text == "looking-on") return true;
  to.hear([&](Announcements::Listener& listener) {
    while (!text.empty()) read_line(take_until(text, '\n'), listener);
  });
  return false;
}

}  // namespace restante::postgres
