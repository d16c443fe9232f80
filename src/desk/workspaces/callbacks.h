// Callbacks decides whether a push workspace's callback may be called now, from the results of earlier calls. After
// five failures in a row it pauses calls to that callback. After the pause one call is allowed, the probe. If it
// succeeds, the pauses end; if it fails, the next pause is longer. Callbacks also limits the number of running calls to
// one callback, so that a slow one cannot use up the server. All of this is in memory: after a restart every callback
// may be called. Thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "model/ids.h"

namespace restante::desk {

struct CallbackRules {
  int failures = 5;                                  // in a row, before calls are paused
  std::chrono::milliseconds first_pause{1'000};      // an agent that restarts is back within seconds
  std::chrono::milliseconds longest_pause{300'000};  // the longest wait for an agent that is back
  int under_way = 64;                                // running calls; further messages go to the inbox, which has room
};

class Callbacks {
  struct Callback;

 public:
  // The right to call once. The caller reports the result by succeeded() or failed(). If the permit is destroyed
  // without either (the server stops, the store failed), nothing changes and the next call may try.
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
    const std::shared_ptr<Callback> callback_ RESTANTE_GUARDED_BY(callbacks_.mutex_);
    const bool probe_;
  };

  // `chance` returns numbers from 0 up to 1. They spread the probes of many callbacks that failed together.
  Callbacks(const Clock& clock, CallbackRules rules, std::function<double()> chance = random_chance);

  // Null while calls are paused or too many are running. Another url is another callback, without failures.
  std::shared_ptr<Permit> acquire(WorkspaceId workspace, std::string_view url);
  // For a removed workspace. Running calls end normally.
  void forget(WorkspaceId workspace);

  static double random_chance();

 private:
  std::chrono::milliseconds pause_after(int failed_probes) const;

  const Clock& clock_;
  const CallbackRules rules_;
  const std::function<double()> chance_;
  Mutex mutex_;  // calls end on any pool thread; held for a few instructions only
  std::unordered_map<std::string, std::shared_ptr<Callback>> by_workspace_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::desk
