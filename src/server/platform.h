// Platform: the whole server in one object, and the only place where a backend is named. Built in the order the data
// flows: config → stores → verbs → routes → listen; taken down the other way round.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "desk/workspaces.h"
#include "server/config.h"

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
  // From another thread: stop() waits for nothing any more.
  void stop_now();

  // For `dev`, which makes a workspace to look at.
  desk::Workspaces& workspaces();
  const std::string& admin_token() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace restante
