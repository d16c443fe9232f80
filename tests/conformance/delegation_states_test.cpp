// The diagram in docs/states.md and the table in the code are the same, pair by pair.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "model/delegation.h"
#include "model/delegation_rules.h"

namespace restante::testing {
namespace {

using Pairs = std::set<std::pair<std::string, std::string>>;

// The arrows of the first diagram, without those from and to the outside.
Pairs drawn() {
  std::ifstream file(RESTANTE_SOURCE_DIR "/docs/states.md");
  Pairs pairs;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) inside = line == "```mermaid";
    std::istringstream words(line);
    std::string from;
    std::string arrow;
    std::string to;
    if (inside && words >> from >> arrow >> to && arrow == "-->" && from != "[*]" && to != "[*]") {
      pairs.emplace(from, to);
    }
  }
  return pairs;
}

TEST(DelegationStates, TheTransitionTableMatchesTheDiagram) {
  Pairs allowed;
  for (const auto from : kDelegationStatuses) {
    for (const auto to : kDelegationStatuses) {
      if (may_become(from, to)) allowed.emplace(name_of(from), name_of(to));
    }
  }
  EXPECT_EQ(allowed, drawn());
  EXPECT_EQ(allowed.size(), 11u);
}

TEST(DelegationStates, NothingFollowsAFinalStatusAndNoStatusFollowsItself) {
  for (const auto from : kDelegationStatuses) {
    EXPECT_FALSE(may_become(from, from));
    for (const auto to : kDelegationStatuses) EXPECT_FALSE(is_final(from) && may_become(from, to));
  }
}

TEST(DelegationStates, AReportOfEveryStatusInEveryStatusDoesWhatTheTableAllows) {
  const Time now(std::chrono::seconds(1'800'000'000));
  for (const auto from : kDelegationStatuses) {
    for (const auto to : kDelegationStatuses) {
      SCOPED_TRACE(std::string(name_of(from)) + " → " + std::string(name_of(to)));
      Delegation was;
      was.id = "d";
      was.status = from;
      if (is_final(from)) was.finished_at = now;
      DelegationReport report;
      report.status = to;
      report.text = "said";
      const auto transition = transition_by_report(was, report, now);
      EXPECT_EQ(transition.is.status, may_become(from, to) ? to : from);
      EXPECT_EQ(transition.outcome == DelegationOutcome::changed, may_become(from, to));
      EXPECT_EQ(transition.outcome == DelegationOutcome::repeated, from == to);
      EXPECT_EQ(transition.outcome == DelegationOutcome::late, is_final(from) && is_final(to) && from != to);
      EXPECT_EQ(transition.ends, may_become(from, to) && is_final(to));
      if (transition.outcome == DelegationOutcome::refused) {
        EXPECT_FALSE(transition.writes || transition.step || transition.to_caller || transition.to_callee);
      }
    }
  }
}

}  // namespace
}  // namespace restante::testing
