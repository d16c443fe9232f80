#include "cli/terminal/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/utf8.h"
#include "cli/terminal/failed.h"

namespace restante::cli {
namespace {

void write_line(std::string prefix, std::string_view sentence) {
  // A file name or value in the sentence must not be able to move the cursor or forge a second line.
  prefix += presentable(sentence, '?') + '\n';
  std::fwrite(prefix.data(), 1, prefix.size(), stderr);
}

}  // namespace

bool colourful(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color && *no_color != '\0') return false;
  return ::isatty(fd) == 1 && term && std::string_view(term) != "dumb";
}

Colours colours() { return colourful(STDOUT_FILENO) ? Colours::on : Colours::off; }

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return kExitOk;
  print_error("cannot write to standard output");
  return kExitFailed;
}

bool confirmed(std::string_view question) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return true;
  print(std::string(question) + " [y/N] ");
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

void print_error(std::string_view sentence) { write_line("restante: ", sentence); }

void warn(std::string_view sentence) {
  write_line(colourful(STDERR_FILENO) ? "restante: \033[33mwarning:\033[0m " : "restante: warning: ", sentence);
}

std::string with_bold_headings(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    const bool heading = line.ends_with(':') && line.front() != ' ';
    out += heading ? "\033[1m" : "";
    out += line;
    out += heading ? "\033[0m\n" : "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace restante::cli
