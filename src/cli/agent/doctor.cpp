#include <fmt/format.h>

#include "agent/self_test_steps.h"
#include "base/json_writer.h"
#include "base/names.h"
#include "cli/agent/setup.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "client/probe.h"

namespace restante::cli {
namespace {

using Result = agent::SelfTestStep::Result;
using Step = agent::SelfTestStep::Step;

constexpr Names<Step, Step::ack> kSteps{"server", "token", "disk", "upload", "poll", "fetch", "ack"};

class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void add(const std::string& step, Result result, const std::string& sentence, const std::string& remedy) {
    const bool failed = result == Result::failed;
    if (json_) {
      print(json_object([&](JsonWriter& out) {
              out.member("step", step);
              result == Result::untried ? out.raw_member("passed", "null") : out.member("passed", !failed);
              out.member("found", sentence);
              if (failed) out.member("remedy", remedy);
            }) +
            "\n");
      return;
    }
    const char* word = failed ? "FAILED" : result == Result::passed ? "ok" : "untried";
    print(fmt::format("{:<12} {:<7} {}\n", step, word, sentence));
    if (failed && !remedy.empty()) print(fmt::format("{:<20} {}\n", "", remedy));
  }

 private:
  bool json_;
};

std::string remedy_for(const std::string& step, const client::Url& server) {
  if (step == "proxy") return "Set http_proxy, https_proxy or no_proxy to what this network needs, or unset them.";
  if (step == "name")
    return fmt::format("Is {} spelled right, and is this machine online? Try: getent hosts {}", server.host,
                       server.host);
  if (step == "connection")
    return fmt::format("Does the server run and listen on port {} to the outside? A firewall may be in between.",
                       server.port);
  if (step == "tls")
    return "The server's certificate must be valid for this name and issued by an authority this machine trusts "
           "(SSL_CERT_FILE names another list); also check this machine's clock.";
  return {};
}

std::string remedy_for(const agent::SelfTestStep& finding) {
  switch (finding.step) {
    case Step::server:
      return "This address answers, but not as a Restante server: check --url, its path, and what a proxy in between "
             "does.";
    case Step::token:
      return "Make a new one with `restante invite --workspace …` on the server and run `restante connect --enrol "
             "TOKEN`.";
    case Step::disk:
      return "Give --dir a folder that this user may write to, with room on its disk.";
    case Step::upload:
    case Step::announce:
    case Step::fetch:
    case Step::ack:
      return "The server's log contains more; a proxy in front must pass POST, Range and answers held for 50 s "
             "unchanged.";
  }
  return {};
}

int code_for(const agent::SelfTestStep& finding) {
  if (finding.result != Result::failed) return kExitOk;
  if (finding.step == Step::server) return kExitUnavailable;
  return finding.step == Step::token ? kExitNotPermitted : kExitFailed;
}

}  // namespace

int doctor(const DoctorOptions& given) {
  DoctorOptions options = given;
  check_options(options.agent);
  options.agent = with_state(std::move(options.agent));
  const auto folder = state_folder(options.agent);
  const auto inspected = agent::inspect_state(folder);
  const auto state_view = inspected.has_value() ? *inspected : agent::StateView();
  auto settings = settings_from(options.agent, state_view.state.value_or(agent::State()));
  if (settings.token.empty() && state_view.token) settings.token = read_token_file(folder + "/token");
  if (settings.workspace.empty() && state_view.state) settings.workspace = state_view.state->workspace;

  Report report(options.json);
  const auto caution = settings.server.tls ? "" : " (not https: fine on this machine, nowhere else)";
  report.add("address", Result::passed, settings.server.text() + caution, {});
  const bool reached = client::probe(settings.server, settings.http, [&](const client::ProbeStep& step) {
    report.add(step.name, step.passed ? Result::passed : Result::failed, step.sentence,
               remedy_for(step.name, settings.server));
  });
  if (!reached) return kExitUnavailable;
  int code = kExitOk;
  bool untried = false;
  const auto sender = options.sender_file.empty() ? std::string() : read_token_file(options.sender_file);
  agent::run_self_test(settings, sender, state_view, [&](const agent::SelfTestStep& finding) {
    report.add(std::string(kSteps.of(finding.step)), finding.result, finding.sentence, remedy_for(finding));
    untried = untried || finding.result == Result::untried;
    if (code == kExitOk) code = code_for(finding);
  });
  if (code == kExitOk && !options.json) print(untried ? "Everything that was tried works.\n" : "Everything works.\n");
  return code;
}

}  // namespace restante::cli
