// Readiness: the answer of /ready. Any client may ask, and a check writes and syncs: so an answer is kept for a moment,
// and at most one check runs at a time. A request that comes meanwhile waits for its result without a thread. Copies
// share one state. Thread-safe. When a check ends without a result, those who wait for it get Unavailable.
#pragma once
#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/response.h"

namespace restante::api {

// One check of /ready.
struct ReadinessCheck {
  std::string name;
  std::function<void()> check;  // throws when it is not ready
  // False: a failure is shown, and the server is ready nevertheless.
  bool required = true;
  std::string_view when_failed = "failed";
};

class Readiness {
 public:
  Readiness(std::vector<ReadinessCheck> checks);  // NOLINT(google-explicit-constructor): a list of checks is one
  Readiness(std::initializer_list<ReadinessCheck> checks) : Readiness(std::vector(checks)) {}

  // The last answer while it is fresh, else one that runs the checks on the threads that may block on file content.
  http::Response answer(const Clock& clock) const;

 private:
  struct State;
  class Run;
  std::shared_ptr<State> state_;
};

}  // namespace restante::api
