// The programs that this server offers for download, and the lines that people paste to connect an agent.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/json_writer.h"
#include "http/request.h"

namespace restante::api {

struct Context;

struct Program {
  std::string name;  // restante-linux-x86_64; empty: this server has no program to offer
  std::string sha256;
  std::uint64_t size = 0;
  std::shared_ptr<const void> owner;  // keeps `fd` open
  int fd = -1;
  std::string media_type = "application/octet-stream";
};

// public_url, or the address that the client used: on a new machine the line to paste works without changes.
std::string platform_url(const Context& context, const http::Request& request);
// Writes the lines to paste on a new machine: one that connects and, if there is a program to fetch, one that fetches
// it before.
void write_commands(JsonWriter& out, const Program& program, const std::string& url, const std::string& enrolment);

}  // namespace restante::api
