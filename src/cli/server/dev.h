// `restante dev`: a server on loopback with a demo workspace and an agent that answers, for trying it out.
#pragma once
#include <cstdint>
#include <string>

namespace restante::cli {

struct DevOptions {
  std::uint16_t port = 8080;  // 0 picks a free one
  std::string data = "./data";
  bool agent = true;  // false with --no-agent: uploads stay waiting
};

// Returns the exit code.
int dev(const DevOptions& options);

}  // namespace restante::cli
