#include "server/settings/kinds.h"

#include "base/text.h"

namespace restante {
namespace {

using namespace std::chrono_literals;

std::string some_port(const std::string& text) {
  const auto port = parse_unsigned(text);
  if (!port || *port == 0 || *port > 65'535 || text.front() == '0') {
    throw BadValue(fmt::format("must be ports from 1 to 65535, not {}", in_quotes(text)));
  }
  return text;
}

}  // namespace

std::vector<Setting> agent_settings() {
  return {
      duration("presence.silence", RESTANTE_FIELD(silence), 1s, 24h,
               "An agent in poll mode that has not polled for this long, and for five of its usual gaps, is shown as "
               "silent. Short = agents that are busy with a task are reported as silent."),

      duration("activity.retention", RESTANTE_FIELD(activity.retention), 1s, 876'000h,
               "How long inbox rows and ended tasks are kept, in whole seconds. Rows that an agent has not acked stay "
               "until activity.ceiling. Not below the longest deadline of a task."),
      duration("activity.ceiling", RESTANTE_FIELD(activity.ceiling), 1s, 876'000h,
               "When messages are deleted that no agent has acked. Not below activity.retention."),

      duration("delegations.deadline", RESTANTE_FIELD(delegations.deadline), 1s, 8'760h,
               "How long a task may take whose caller names no deadline, in whole seconds. Shorter than a laptop stays "
               "closed fails tasks that no agent has seen."),
      duration(
          "delegations.longest_deadline", RESTANTE_FIELD(delegations.longest_deadline), 1s, 8'760h,
          "The latest deadline a caller may name, from now. Long = forgotten tasks count against the limits below."),
      duration("delegations.stuck_after", RESTANTE_FIELD(delegations.stuck_after), 10ms, 24h,
               "A task that was picked up and has been silent for this long is stuck. Short = tasks of agents that "
               "think for a "
               "long time fail."),
      duration("delegations.sweep_every", RESTANTE_FIELD(delegations.sweep_every), 10ms, 24h,
               "How often deadlines and silent tasks are checked. Long = callers learn of them late."),
      number("delegations.max_depth", RESTANTE_FIELD(delegations.max_depth), 0, 1'000,
             "How deep tasks may be nested, beyond it 422; 0 = the most that is possible, 1000."),
      number("delegations.max_per_caller", RESTANTE_FIELD(delegations.max_per_caller), 0, 1'000'000,
             "Tasks of one calling agent that may be in progress, beyond it 429; 0 = no limit. Without one, a "
             "runaway agent fills all inboxes."),
      number("delegations.max_per_pair", RESTANTE_FIELD(delegations.max_per_pair), 0, 1'000'000,
             "The same from one agent to one other; 0 = no limit."),
      number("delegations.max_per_callee", RESTANTE_FIELD(delegations.max_per_callee), 0, 1'000'000,
             "Tasks for one receiving agent that may be in progress, beyond it 429; 0 = no limit."),

      list("push.allow_networks", RESTANTE_FIELD(push.allow_networks),
           "Networks beyond the public internet that push workspaces' callback URLs may lead to, for example "
           "10.0.0.0/8. Too wide, and an agent can make this server call into your own network.",
           parse_network),
      list("push.allow_ports", RESTANTE_FIELD(push.allow_ports),
           "Ports that callback URLs may have beside 80 and 443. A port of another service lets agents talk to it.",
           some_port),
      duration("push.timeout", RESTANTE_FIELD(push.timeout), 1ms, 5min,
               "How long one call of a callback may take in total; then the message goes to the inbox. Long = senders "
               "wait for agents that have stopped."),
      flag(
          "push.stage_when_down", RESTANTE_FIELD(push.stage_when_down),
          "Stage an upload for a push agent that cannot be reached, as for a poll agent, instead of answering 502. For "
          "agents that also poll: others never learn of it."),
  };
}

}  // namespace restante
