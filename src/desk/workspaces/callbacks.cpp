#include "desk/workspaces/callbacks.h"

#include <algorithm>
#include <array>

#include "base/crypto.h"

namespace restante::desk {

// Used only while Callbacks::mutex_ is locked: a permit and the map share it.
struct Callbacks::Callback {
  std::string url;
  int failures = 0;       // in a row
  int failed_probes = 0;  // since the last success
  int running = 0;
  bool paused = false;
  bool probing = false;
  SteadyTime next_probe;
};

Callbacks::Permit::Permit(Callbacks& callbacks, std::shared_ptr<Callback> callback, bool probe)
    : callbacks_(callbacks), callback_(std::move(callback)), probe_(probe) {}

Callbacks::Permit::~Permit() {
  const MutexLock lock(callbacks_.mutex_);
  --callback_->running;
  if (probe_) callback_->probing = false;
}

void Callbacks::Permit::succeeded() {
  const MutexLock lock(callbacks_.mutex_);
  callback_->failures = 0;
  callback_->failed_probes = 0;
  callback_->paused = false;
}

void Callbacks::Permit::failed() {
  const MutexLock lock(callbacks_.mutex_);
  Callback& callback = *callback_;
  ++callback.failures;
  // A call that began before the pause may fail during it. That must not make the pause longer.
  if (callback.paused && !probe_) return;
  if (!callback.paused && callback.failures < callbacks_.rules_.failures) return;
  callback.failed_probes += callback.paused ? 1 : 0;
  callback.paused = true;
  callback.next_probe = callbacks_.clock_.steady() + callbacks_.pause_after(callback.failed_probes);
}

Callbacks::Callbacks(const Clock& clock, CallbackRules rules, std::function<double()> chance)
    : clock_(clock), rules_(rules), chance_(std::move(chance)) {}

std::shared_ptr<Callbacks::Permit> Callbacks::acquire(WorkspaceId workspace, std::string_view url) {
  std::shared_ptr<Callback> callback;
  bool probe = false;
  {
    const MutexLock lock(mutex_);
    auto& known = by_workspace_[workspace.text()];
    if (!known || known->url != url) {
      known = std::make_shared<Callback>();
      known->url = url;
    }
    callback = known;
    if (callback->running >= rules_.under_way) return nullptr;
    if (callback->paused) {
      if (callback->probing || clock_.steady() < callback->next_probe) return nullptr;
      callback->probing = probe = true;
    }
    ++callback->running;
  }
  return std::make_shared<Permit>(*this, std::move(callback), probe);
}

void Callbacks::forget(WorkspaceId workspace) {
  const MutexLock lock(mutex_);
  by_workspace_.erase(workspace.text());
}

std::chrono::milliseconds Callbacks::pause_after(int failed_probes) const {
  auto pause = rules_.first_pause;
  for (int i = 0; i < failed_probes && pause < rules_.longest_pause; ++i) pause *= 2;
  pause = std::min(pause, rules_.longest_pause);
  // Up to a fifth shorter, never longer: longest_pause is a promise.
  const double share = 1.0 - 0.2 * chance_();
  return std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(pause.count()) * share));
}

double Callbacks::random_chance() {
  std::array<std::uint8_t, 2> bytes{};
  random_bytes(bytes);
  return (bytes[0] * 256 + bytes[1]) / 65'536.0;
}

}  // namespace restante::desk
