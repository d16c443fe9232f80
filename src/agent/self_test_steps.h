// The steps of `restante doctor`: tests what an agent needs and ends with a small file that goes all the way: uploaded
// by a person (or by the agent to itself when there is no token of a person), announced to a poll, fetched, verified,
// acknowledged. Does not move the cursor. An agent that runs meanwhile may take the file first, which proves as much;
// it does not hand the file over. Blocking, one thread.
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

// `settings.token` must be the workspace's token; `sender` that of a person or the operator, or empty. Ends at the
// first step that fails. True when none did.
bool run_self_test(const Settings& settings, const std::string& sender, const StateView& state_view,
                   const std::function<void(const SelfTestStep&)>& on_step);

// Name and metadata of what a self-test sends, so that an agent does not hand it over.
inline constexpr std::string_view kSelfTestName = "restante-doctor-";
inline constexpr std::string_view kSelfTestMember = "restante_doctor";
bool is_self_test(const ReceivedRow& row, const std::string& workspace);

}  // namespace restante::agent
