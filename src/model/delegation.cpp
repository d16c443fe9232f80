#include "model/delegation.h"

#include <algorithm>

#include "base/text.h"

namespace restante {
namespace {

using enum DelegationStatus;

struct Step {
  DelegationStatus from;
  DelegationStatus to;
};
constexpr Step kSteps[] = {
    {queued, dispatched},      {queued, in_progress},   {queued, completed},  {queued, failed},
    {dispatched, in_progress}, {dispatched, completed}, {dispatched, failed}, {dispatched, stuck},
    {in_progress, completed},  {in_progress, failed},   {in_progress, stuck},
};

std::string spell(std::chrono::microseconds span) {
  const auto count = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(span).count());
  if (count < 120) return std::to_string(count) + " s";
  if (count < 2 * 3600) return std::to_string(count / 60) + " min";
  if (count < 48 * 3600) return std::to_string(count / 3600) + " h";
  return std::to_string(count / 86'400) + " days";
}

std::string with_note(std::string sentence, const std::string& progress) {
  return progress.empty() ? sentence : sentence + "; its last report: " + progress;
}

std::string behind(std::int64_t ahead) {
  return "behind " + (ahead == 1 ? "one other" : std::to_string(ahead) + " others") + " for the same receiving agent";
}

std::string why_queued(const WaitFacts& waiting, Time now) {
  if (waiting.delegation.recorded) return "recorded by its caller, who reports on it";
  if (!waiting.delegation.inbox_seq) return "the receiving agent's callback is being called";
  if (!waiting.callee_polls && !waiting.polled_at) {
    return "the receiving agent's callback could not take it; it waits in the inbox until the agent polls";
  }
  if (!waiting.seen_at) return "the receiving agent has never connected";
  if (!waiting.callee_online) return "the receiving agent is offline since " + format_time(*waiting.seen_at);
  if (waiting.silent_for || !waiting.polled_at) {
    if (!waiting.polled_at) return "the receiving agent has not polled yet";
    return "the receiving agent has not polled since " + format_time(*waiting.polled_at);
  }
  if (waiting.ahead > 0) return behind(waiting.ahead);
  if (!waiting.missing_file.empty())
    return "waiting for a file: the receiving agent has not taken " + waiting.missing_file;
  return "in the receiving agent's inbox for " + spell(now - waiting.delegation.created_at) + ", not picked up yet";
}

std::string why_in_progress(const WaitFacts& waiting, Time now) {
  const Delegation& task = waiting.delegation;
  if (!waiting.callee_online && waiting.seen_at) {
    return with_note("picked up, but the receiving agent is offline since " + format_time(*waiting.seen_at),
                     task.progress);
  }
  // An agent that reports that it works on the task does not wait for a file.
  if (!waiting.missing_file.empty() && task.status == dispatched) {
    return with_note("waiting for a file: the receiving agent has not taken " + waiting.missing_file, task.progress);
  }
  if (!task.last_heartbeat) return "picked up and silent for " + spell(now - task.updated_at);
  const auto silent = now - *task.last_heartbeat;
  if (silent >= std::chrono::minutes(2)) return with_note("picked up and silent for " + spell(silent), task.progress);
  if (waiting.ahead > 0 && task.status == dispatched) {
    return with_note("picked up, " + behind(waiting.ahead), task.progress);
  }
  return with_note("being worked on; last heartbeat " + spell(silent) + " ago", task.progress);
}

}  // namespace

bool may_become(DelegationStatus from, DelegationStatus to) {
  return std::ranges::any_of(kSteps, [&](const Step& step) { return step.from == from && step.to == to; });
}

bool is_delegation_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDelegationId && std::ranges::all_of(text, [](char c) {
    return is_alpha(c) || is_digit(c) || c == '.' || c == '_' || c == ':' || c == '-';
  });
}

std::string why_waiting(const WaitFacts& waiting, Time now) {
  if (!waiting.delegation.in_flight()) return {};
  if (waiting.callee_removed) return "the receiving agent was removed; the task waits for its deadline";
  return waiting.delegation.status == queued ? why_queued(waiting, now) : why_in_progress(waiting, now);
}

}  // namespace restante
