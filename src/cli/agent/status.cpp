#include <algorithm>

#include "cli/agent/setup.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

// A poll is held for 25 s and given up 15 s later; twice that is more than a short interruption.
constexpr auto kFresh = std::chrono::seconds(80);

Json health_of(const agent::StateView& state_view) {
  auto health = parse_json(std::string_view(state_view.health).substr(0, state_view.health.find('\n')));
  return health.has_value() ? std::move(*health) : Json::object();
}

const Json& under_way_in(const Json& health) {
  static const Json kNone;
  const Json* found = health.find("under_way");
  return found ? *found : kNone;
}

// "message from the person, since 3 min".
std::string under_way(const Json& health, Time now) {
  const Json& delivery = under_way_in(health);
  const auto what = delivery.text("what");
  return what.empty() ? what : what + ", begun " + format_ago(delivery.text("since"), now);
}

std::string paused(const Json& health) { return under_way_in(health).text("trouble"); }

std::string format(const agent::StateView& state_view, const Condition& condition, const std::string& folder) {
  const auto health = health_of(state_view);
  const auto now = SystemClock().now();
  const auto count = [&](const char* key) {
    const auto number = health.whole(key);
    return number > 0 ? std::to_string(number) : std::string();
  };
  const auto paint = condition.code == kExitOk            ? Paint::good
                     : condition.code == kExitUnavailable ? Paint::warn
                                                          : Paint::bad;
  auto text = format_facts({{"agent", {condition.word, paint}},
                            {"server", {state_view.state ? state_view.state->server : std::string()}},
                            {"workspace", {state_view.state ? state_view.state->workspace : std::string()}},
                            {state_view.in_use ? "runs as" : "ran as", {state_view.holder}},
                            {"last answer", {format_ago(health.text("last_poll_at"), now)}},
                            {"trouble", {state_view.in_use ? health.text("trouble") : std::string()}},
                            {"works on", {state_view.in_use ? under_way(health, now) : std::string()}},
                            {"paused", {state_view.in_use ? paused(health) : std::string(), Paint::warn}},
                            {"messages behind it", {state_view.in_use ? count("waiting_deliveries") : std::string()}},
                            {"files to download", {count("waiting_files")}},
                            {"replies to send", {count("unsent_replies")}},
                            {"state", {folder}}},
                           colours());
  if (!condition.sentence.empty()) text += condition.sentence + "\n";
  return text;
}

std::string as_json(const agent::StateView& state_view, const Condition& condition, const std::string& folder) {
  auto out = health_of(state_view);
  out.set("status", Json::string(condition.word));
  out.set("running", Json::boolean(state_view.in_use));
  out.set("holder", Json::string(state_view.holder));
  out.set("server", Json::string(state_view.state ? state_view.state->server : ""));
  out.set("workspace_id", Json::string(state_view.state ? state_view.state->workspace : ""));
  out.set("cursor", Json::number(state_view.state ? state_view.state->cursor : 0));
  out.set("state", Json::string(folder));
  return out.dump() + "\n";
}

}  // namespace

Condition condition_of(const agent::StateView& state_view, Time now) {
  if (!state_view.state && !state_view.in_use)
    return {kExitNotPermitted, "not set up", "Connect it first: restante connect --url https://… --enrol TOKEN"};
  const auto ended = health_of(state_view).text("ended");
  if (!state_view.in_use && ended == "revoked") {
    return {
        kExitNotPermitted, "revoked",
        "The server does not take its token any more. Get a new line (restante invite --workspace … on the server, or "
        "Connect… on the page) and run it here."};
  }
  if (!state_view.in_use && ended == "removed")
    return {kExitNotPermitted, "removed", "Its workspace was removed from the server. A new one needs a new line."};
  if (!state_view.in_use)
    return {kExitFailed, "stopped", "Start it with: restante connect (or --install-service, to have it run always)"};
  const auto health = health_of(state_view);
  const auto polled = parse_time(health.text("last_poll_at"));
  if (polled && now - *polled < kFresh && health.text("trouble").empty()) return {kExitOk, "connected", {}};
  return {kExitUnavailable, "unreachable", "It keeps trying. restante doctor shows which step fails."};
}

namespace {

// Prints one agent. Returns the exit code.
int show(const std::string& folder, const StatusOptions& options) {
  const auto state_view = agent::inspect_state(folder);
  if (state_view.has_error() && state_view.error().error != ENOENT)
    throw CommandFailed(kExitFailed, state_view.error().sentence);
  const auto seen = state_view.has_value() ? *state_view : agent::StateView();
  const auto condition = condition_of(seen, SystemClock().now());
  const int printed = print(options.json ? as_json(seen, condition, folder) : format(seen, condition, folder));
  return printed != kExitOk ? printed : condition.code;
}

}  // namespace

int status(const StatusOptions& options) {
  AgentOptions where;
  where.state = options.state;
  where.workspace = options.workspace;
  check_options(where);
  const auto known = known_agents();
  if (!options.state.empty() || !options.workspace.empty() || known.size() < 2)
    return show(state_folder(with_state(where)), options);
  int worst = kExitOk;
  for (const auto& one : known) {
    if (&one != known.data() && !options.json) print("\n");
    worst = std::max(worst, show(one.folder, options));
  }
  return worst;
}

}  // namespace restante::cli
