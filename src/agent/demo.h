// The demo agent: what `restante dev` runs for each delivery. It reads one delivery as JSON and prints one line per
// file (name, size, sha256 of the file on disk), or the text when there are no files.
#pragma once
#include <string>
#include <string_view>

namespace restante::agent {

// From stdin to stdout; returns the exit code.
int demo_reply();

// The same on text. Empty when it is no delivery.
std::string demo_reply_to(std::string_view delivery_json);

}  // namespace restante::agent
