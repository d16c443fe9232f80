// The agent's executable that this server offers for download.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace restante::api {

struct Program {
  std::string name;  // restante-linux-x86_64; empty: this server has no program to offer
  std::string sha256;
  std::uint64_t size = 0;
  std::shared_ptr<const void> owner;  // keeps `fd` open
  int fd = -1;
};

// The lines to paste on a new machine: fetch the program, make it executable, connect. Empty when there is no program
// to fetch.
std::string install_command(const Program& program, const std::string& url, const std::string& enrolment);

}  // namespace restante::api
