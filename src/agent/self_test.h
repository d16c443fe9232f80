// Checkup: tries what an agent needs, step by step, and ends with a small file that goes all the way: uploaded by a
// person, or by the agent for itself when there is no token of a person, announced to a poll, fetched, verified,
// acknowledged. Leaves the cursor where it is. An agent that runs meanwhile takes the file first, which proves as much;
// it hands nothing of it over. Blocking, one thread.
#pragma once
#include <functional>
#include <string>

#include "agent/agent.h"

namespace restante::agent {

struct SelfTestStep {
  enum class Step { server, token, disk, upload, announce, fetch, ack } step = Step::server;
  enum class Result { passed, failed, untried } result = Result::failed;
  std::string sentence;
};

// `settings.token` must be the workspace's own; `sender` a person's or the operator's, or empty. Ends at the first step
// that fails. True when none did.
bool run_self_test(const Settings& settings, const std::string& sender, const StateView& state_view,
                   const std::function<void(const SelfTestStep&)>& on_step);

// What a checkup sends: nobody needs to see it.
inline constexpr std::string_view kSelfTestName = "restante-doctor-";
inline constexpr std::string_view kSelfTestMember = "restante_doctor";
bool is_self_test(const ReceivedRow& row, const std::string& workspace);

}  // namespace restante::agent
