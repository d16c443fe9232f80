// Parts of `restante chat` that a test can use without a server. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/terminal/table.h"

namespace restante::cli {

// A line that a person typed: a message, or a command that begins with a slash.
struct ChatInput {
  enum class What { nothing, message, file, save, help, quit, unknown } what = What::nothing;
  std::string text;   // of a message; of file: what is said with it
  std::string value;  // of file: its path; of save: the folder; of unknown: the word
};
// A path with spaces is written in quotes. A message that begins with a slash is written with two.
ChatInput parse_chat_input(std::string_view line);

// A message as it is shown: time and name, then the text, further lines indented.
std::string format_chat_message(std::string_view at, std::string_view who, std::string_view text, Colours colours);

}  // namespace restante::cli
