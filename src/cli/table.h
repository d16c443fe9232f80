// Tables and times for people: columns that line up whatever script a name is written in, and "2 min ago". Text from
// the server cannot move the cursor: control characters are shown as spaces. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace restante::cli {

enum class Paint { plain, good, warn, bad, faint };
enum class Colours { off, on };

struct Cell {
  std::string text;
  Paint paint = Paint::plain;
};

using TableRow = std::vector<Cell>;

// A heading line and one line a row, two blanks between columns, none at the end of a line.
std::string format_table(const std::vector<std::string>& headings, const std::vector<TableRow>& rows, Colours colours);

// "label  value" a line, the values under each other; entries with an empty value are left out.
std::string format_facts(const std::vector<std::pair<std::string, Cell>>& facts, Colours colours);

// "just now", "2 min ago", "3 h ago", "5 days ago"; "in 23 h" for what is to come; the date beyond a month.
std::string format_ago(Time then, Time now);
// The same for a time as the server writes it; empty for an empty text, the text itself when it is no time.
std::string format_ago(std::string_view then, Time now);

// Text of several lines as it may be shown on a terminal: line ends and tabs stay, what would act on it becomes a
// space.
std::string presentable_lines(std::string_view text);

// On a terminal: how many columns the text takes.
std::size_t display_width(std::string_view utf8);

}  // namespace restante::cli
