// Platform: the whole server in one object, and the only file that names a backend. Built in the order in which data
// flows: config → stores → verbs → routes → listen; destroyed in reverse order.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "desk/workspaces/workspaces.h"
#include "server/config/config.h"

namespace restante {

class Platform {
 public:
  // Opens the stores. Throws std::runtime_error with a sentence for the operator, OpenRefused included.
  explicit Platform(const Config& config);
  ~Platform();

  // Binds and serves.
  void start();
  std::vector<std::string> addresses() const;
  void reload();
  // Drains; returns when the last request has been answered or the drain time is over.
  void stop();
  // From another thread: makes stop() return without further waiting.
  void stop_now();

  // For `dev`, which makes a workspace as an example.
  desk::Workspaces& workspaces();
  const std::string& admin_token() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace restante
