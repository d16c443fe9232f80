// Tables and times for people: columns are aligned in any script, and times are "2 min ago". Text from the server
// cannot move the cursor: control characters become spaces. Pure.
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

// A heading line and one line for each row, two spaces between columns, none at the end of a line.
std::string format_table(const std::vector<std::string>& headings, const std::vector<TableRow>& rows, Colours colours);

// One line "label  value" for each entry, the values aligned; entries with an empty value are left out.
std::string format_facts(const std::vector<std::pair<std::string, Cell>>& facts, Colours colours);

// "just now", "2 min ago", "3 h ago", "5 days ago"; "in 23 h" for a future time; the date beyond a month.
std::string format_ago(Time then, Time now);
// The same for a time in the server's format; empty for an empty text, the text itself when it is no time.
std::string format_ago(std::string_view then, Time now);

// Text of several lines that is safe for a terminal: line ends and tabs stay, other control characters become spaces.
std::string presentable_lines(std::string_view text);

// How many columns the text takes on a terminal.
std::size_t display_width(std::string_view utf8);

}  // namespace restante::cli
