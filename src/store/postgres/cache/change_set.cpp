#include "store/postgres/cache/change_set.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace restante::postgres {
namespace {

constexpr std::size_t kMostBytes = 7'900;

// Takes the text before the separator, and the separator; all of it when there is none.
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

void read_line(std::string_view line, Announcements::Subscriber& to) {
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
    to.publish({*workspace, std::string(name), std::string(line)});
  }
}

}  // namespace

std::vector<std::string> ChangeSet::texts(const Uuid& instance) const {
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

ChangeSet change_set_of(std::string_view text) {
  ChangeSet change_set;
  take_until(text, '\n');
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    const auto kind = take_until(line, ' ');
    if (kind == "token") {
      if (const auto token = take_id<TokenId>(line)) change_set.revoked.insert(*token);
      continue;
    }
    const auto workspace = take_id<WorkspaceId>(line);
    if (!workspace) continue;
    if (kind == "log") {
      const auto first = take_number(line);
      change_set.appended[*workspace] = {first, take_number(line)};
    } else if (kind == "workspace") {
      change_set.changed.insert(*workspace);
    } else if (kind == "pruned") {
      change_set.pruned.insert(*workspace);
    }
  }
  return change_set;
}

std::string text_of(const Uuid& instance, const TransientEvent& event) {
  std::string text = fmt::format("{}\nevent {} {} {}", instance.text(), event.workspace.text(), event.name, event.data);
  // The text is split at line ends; JSON in one line has none.
  if (text.size() > kMostBytes || event.data.find('\n') != std::string::npos) text.clear();
  return text;
}

std::string interest_text(const Uuid& instance) { return instance.text() + "\nlooking-on"; }

bool read_text(std::string_view text, const Uuid& instance, Announcements& to) {
  const auto from = Uuid::parse(take_until(text, '\n'));
  if (!from || *from == instance) return false;
  if (text == "looking-on") return true;
  to.notify_subscriber([&](Announcements::Subscriber& subscriber) {
    while (!text.empty()) read_line(take_until(text, '\n'), subscriber);
  });
  return false;
}

}  // namespace restante::postgres
