// Callbacks: which push workspaces can be reached, learnt from what came of calling them. After five failures in a row
// a callback is spared: it is not asked until a pause is over, then by one call alone, the probe; a success ends it, a
// failed probe makes the next pause longer. It also bounds how many calls to one callback are under way, so that a slow
// one cannot fill the server. Kept in memory: a restart asks everybody afresh. Thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "model/ids.h"

namespace restante::desk {

struct CallbackRules {
  int failures = 5;                                  // in a row, before it is spared
  std::chrono::milliseconds first_pause{1'000};      // an agent that restarts is back within seconds
  std::chrono::milliseconds longest_pause{300'000};  // a laptop that opens again waits no longer than this
  int under_way = 64;                                // calls at once; more go to the inbox, which has room
};

class Callbacks {
  struct Callback;

 public:
  // Leave to call once. Says how it went by succeeded() or failed(); destroyed without either, nothing was learnt (the
  // server stops, the store failed) and the next one may try.
  class Permit {
   public:
    Permit(Callbacks& callbacks, std::shared_ptr<Callback> callback, bool probe);
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    void succeeded();
    void failed();
    bool is_probe() const { return probe_; }

   private:
    Callbacks& callbacks_;
    const std::shared_ptr<Callback> callback_;
    const bool probe_;
  };

  // `chance` gives numbers from 0 up to 1, to spread the probes of many callbacks that went down together.
  Callbacks(const Clock& clock, CallbackRules rules, std::function<double()> chance = random_chance);

  // None when the callback is to be spared now. Another url is another callback: it starts afresh.
  std::shared_ptr<Permit> acquire(WorkspaceId workspace, std::string_view url);
  // The workspace is gone; calls under way end as they may.
  void forget(WorkspaceId workspace);

  static double random_chance();

 private:
  std::chrono::milliseconds pause_after(int failed_probes) const;

  const Clock& clock_;
  const CallbackRules rules_;
  const std::function<double()> chance_;
  std::mutex mutex_;  // calls end on any pool thread; held for a few instructions only
  std::unordered_map<std::string, std::shared_ptr<Callback>> by_workspace_;
};

}  // namespace restante::desk
