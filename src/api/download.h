// The programs that this server offers for download, and the lines that people paste to connect an agent.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "http/request.h"

namespace restante::api {

struct Context;

struct Program {
  std::string name;  // restante-linux-x86_64, restante.py, install.sh
  std::string sha256;
  std::uint64_t size = 0;
  std::shared_ptr<const void> owner;  // keeps `fd` open
  int fd = -1;
};

// public_url, or the address that the client used: on a new machine the line to paste works without changes.
std::string platform_url(const Context& context, const http::Request& request);
// Writes the lines to paste on a machine: one that connects and, as far as there are programs to download, those that
// download one before, compare it with its sha256 and connect: with a shell, with PowerShell, and with Python alone.
void write_commands(JsonWriter& out, const std::vector<Program>& programs, const std::string& url,
                    const std::string& enrolment);

}  // namespace restante::api
