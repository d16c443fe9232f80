#include "cli/terminal/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.h"
#include "base/utf8.h"

namespace restante::cli {
namespace {

// East Asian wide characters and emoji take two columns, combining marks and joiners none.
std::size_t columns(char32_t c) {
  const auto within = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  if (within(0x300, 0x36f) || within(0x200b, 0x200f) || within(0xfe00, 0xfe0f)) return 0;
  if (within(0x1100, 0x115f) || within(0x2e80, 0xa4cf) || within(0xac00, 0xd7a3) || within(0xf900, 0xfaff) ||
      within(0xfe30, 0xfe6f) || within(0xff00, 0xff60) || within(0x1f300, 0x1faff) || within(0x20000, 0x3fffd))
    return 2;
  return 1;
}

constexpr Names<Paint, Paint::faint> kEscapes{"", "\033[32m", "\033[33m", "\033[31m", "\033[2m"};

std::string painted(const std::string& text, Paint paint, Colours colours) {
  if (colours == Colours::off || paint == Paint::plain || text.empty()) return text;
  return fmt::format("{}{}\033[0m", kEscapes.of(paint), text);
}

std::string padded(const std::string& text, std::size_t width, Paint paint, Colours colours) {
  return painted(text, paint, colours) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string format_line(const TableRow& row, const std::vector<std::size_t>& widths, Colours colours) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool last = i + 1 == row.size();
    line +=
        last ? painted(row[i].text, row[i].paint, colours) : padded(row[i].text, widths[i] + 2, row[i].paint, colours);
  }
  while (line.ends_with(' ')) line.pop_back();
  return line + '\n';
}

std::string format_span(std::chrono::seconds span) {
  using namespace std::chrono;
  if (span < minutes(1)) return fmt::format("{} s", span.count());
  if (span < hours(1)) return fmt::format("{} min", duration_cast<minutes>(span).count());
  if (span < days(2)) return fmt::format("{} h", duration_cast<hours>(span).count());
  return fmt::format("{} days", duration_cast<days>(span).count());
}

}  // namespace

std::string presentable_lines(std::string_view text) { return presentable(text, ' ', "\n\t"); }

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const auto [value, bytes] = first_code_point(utf8);
    width += columns(value);
    utf8.remove_prefix(bytes);
  }
  return width;
}

std::string format_table(const std::vector<std::string>& headings, const std::vector<TableRow>& rows, Colours colours) {
  std::vector<TableRow> shown{{}};
  for (const auto& heading : headings) shown.front().push_back({heading, Paint::faint});
  for (const TableRow& row : rows) {
    auto& into = shown.emplace_back(row);
    for (Cell& cell : into) cell.text = presentable(cell.text, ' ');
    into.resize(headings.size());
  }
  std::vector<std::size_t> widths(headings.size());
  for (const TableRow& row : shown) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  std::string out;
  for (const TableRow& row : shown) out += format_line(row, widths, colours);
  return out;
}

std::string format_facts(const std::vector<std::pair<std::string, Cell>>& facts, Colours colours) {
  std::size_t width = 0;
  for (const auto& [label, cell] : facts) {
    if (!cell.text.empty()) width = std::max(width, display_width(label));
  }
  std::string out;
  for (const auto& [label, cell] : facts) {
    if (cell.text.empty()) continue;
    out += padded(label, width + 2, Paint::faint, colours) + painted(presentable(cell.text, ' '), cell.paint, colours) +
           '\n';
  }
  return out;
}

std::string format_ago(Time then, Time now) {
  using namespace std::chrono;
  const auto span = duration_cast<seconds>(now > then ? now - then : then - now);
  if (span < seconds(5)) return "just now";
  if (span >= days(31)) return format_time(then).substr(0, 10);
  if (now > then) return format_span(span) + " ago";
  // "in 24 h" must not become "in 23 h" because the answer took a moment.
  return "in " + format_span(span < hours(1) ? span : span + seconds(30));
}

std::string format_ago(std::string_view then, Time now) {
  const auto time = parse_time(then);
  return time ? format_ago(*time, now) : std::string(then);
}

}  // namespace restante::cli
