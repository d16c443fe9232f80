// GET /download/:file: the agent's executable for the server's own system, and its sha256 in the format of `sha256sum
// -c`. Public: a person who pastes the first line has no token yet, and the program is not a secret.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "http/request.h"
#include "http/response.h"

namespace restante::api {

struct Context;

struct Program {
  std::string name;  // restante-linux-x86_64; empty: this server has no program to offer
  std::string sha256;
  std::uint64_t size = 0;
  std::shared_ptr<const void> owner;  // keeps `fd` open
  int fd = -1;
};

http::Response download(const Context& context, http::Request& request);

// The lines to paste on a new machine: fetch the program, make it executable, connect. Empty when there is no program
// to fetch.
std::string install_command(const Program& program, const std::string& url, const std::string& enrolment);

}  // namespace restante::api
