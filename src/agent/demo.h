// The demo agent's answer: what `restante dev` runs for each delivery. Reads one delivery as JSON, says one line per
// file (name, size, sha256 of the bytes that lie on disk), or a friendly echo of a text without files.
#pragma once
#include <string>
#include <string_view>

namespace restante::agent {

// From stdin to stdout; returns the exit code.
int demo_reply();

// The same on text. Empty when it is no delivery.
std::string demo_reply_to(std::string_view delivery_json);

}  // namespace restante::agent
