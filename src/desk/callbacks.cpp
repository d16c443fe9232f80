#include "desk/callbacks.h"

#include <algorithm>
#include <array>

#include "base/crypto.h"

namespace restante::desk {

// Guarded by the home's mutex.
struct Callbacks::Callback {
  std::string url;
  int failures = 0;       // in a row
  int failed_probes = 0;  // since it was last seen to work
  int under_way = 0;
  bool spared = false;
  bool probing = false;
  SteadyTime next_probe;
};

Callbacks::Permit::Permit(Callbacks& callbacks, std::shared_ptr<Callback> callback, bool probe)
    : callbacks_(callbacks), callback_(std::move(callback)), probe_(probe) {}

Callbacks::Permit::~Permit() {
  const std::lock_guard lock(callbacks_.mutex_);
  --callback_->under_way;
  if (probe_) callback_->probing = false;
}

void Callbacks::Permit::succeeded() {
  const std::lock_guard lock(callbacks_.mutex_);
  callback_->failures = 0;
  callback_->failed_probes = 0;
  callback_->spared = false;
}

void Callbacks::Permit::failed() {
  const std::lock_guard lock(callbacks_.mutex_);
  Callback& callback = *callback_;
  ++callback.failures;
  // Calls that began before it was spared fail after it: they tell nothing new and must not lengthen the pause.
  if (callback.spared && !probe_) return;
  if (!callback.spared && callback.failures < callbacks_.rules_.failures) return;
  callback.failed_probes += callback.spared ? 1 : 0;
  callback.spared = true;
  callback.next_probe = callbacks_.clock_.steady() + callbacks_.pause_after(callback.failed_probes);
}

Callbacks::Callbacks(const Clock& clock, CallbackRules rules, std::function<double()> chance)
    : clock_(clock), rules_(rules), chance_(std::move(chance)) {}

std::shared_ptr<Callbacks::Permit> Callbacks::acquire(WorkspaceId workspace, std::string_view url) {
  std::shared_ptr<Callback> callback;
  bool probe = false;
  {
    const std::lock_guard lock(mutex_);
    auto& known = by_workspace_[workspace.text()];
    if (!known || known->url != url) {
      known = std::make_shared<Callback>();
      known->url = url;
    }
    callback = known;
    if (callback->under_way >= rules_.under_way) return nullptr;
    if (callback->spared) {
      if (callback->probing || clock_.steady() < callback->next_probe) return nullptr;
      callback->probing = probe = true;
    }
    ++callback->under_way;
  }
  return std::make_shared<Permit>(*this, std::move(callback), probe);
}

void Callbacks::forget(WorkspaceId workspace) {
  const std::lock_guard lock(mutex_);
  by_workspace_.erase(workspace.text());
}

std::chrono::milliseconds Callbacks::pause_after(int failed_probes) const {
  auto pause = rules_.first_pause;
  for (int i = 0; i < failed_probes && pause < rules_.longest_pause; ++i) pause *= 2;
  pause = std::min(pause, rules_.longest_pause);
  // Up to a fifth shorter, never longer: the longest pause is a promise.
  const double share = 1.0 - 0.2 * chance_();
  return std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(pause.count()) * share));
}

double Callbacks::random_chance() {
  std::array<std::uint8_t, 2> bytes{};
  random_bytes(bytes);
  return (bytes[0] * 256 + bytes[1]) / 65'536.0;
}

}  // namespace restante::desk
