// Platform: the whole server in one object. Built in the order in which data flows: config → stores → verbs → routes →
// listen; destroyed in reverse order. run() serves with it until a signal stops it.
#pragma once
#include <functional>
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

// Must be called before any thread is made: then run() alone receives signals.
void block_signals();

// Starts the server, calls `ready` once it accepts connections, returns when it has stopped. SIGTERM and SIGINT drain,
// a second one ends at once, SIGHUP reloads certificates.
void run(Platform& platform, const std::function<void()>& ready);  // run.cpp

}  // namespace restante
