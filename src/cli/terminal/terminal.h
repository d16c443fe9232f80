// Output to a person's terminal: error sentences, and bold or colour where the terminal allows it.
#pragma once
#include <string>
#include <string_view>

#include "cli/terminal/table.h"

namespace restante::cli {

// True when fd is a terminal that shows colours and NO_COLOR does not forbid them.
bool colourful(int fd);
// The same for stdout.
Colours colours();

// Writes the text to stdout and returns the exit code: a full disk or a closed pipe is a failure, not a success.
int print(std::string_view text);

// Asks a person yes or no; no is the default. True without asking when there is no terminal: a script has decided
// already.
bool confirmed(std::string_view question);

// Writes "restante: <sentence>" as one line to stderr; control characters become `?`.
void print_error(std::string_view sentence);

// Writes "restante: warning: <sentence>" as one line to stderr.
void warn(std::string_view sentence);

// Help text with its headings (lines at the margin that end in a colon) in bold.
std::string with_bold_headings(std::string_view text);

}  // namespace restante::cli
