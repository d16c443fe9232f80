// Delegations in rare situations.
#include <gmock/gmock.h>

#include "test_delegations.h"

namespace restante::testing {
namespace {

using ::testing::IsEmpty;

class DelegationEdgeCases : public DelegationTest {
 protected:
  NewDelegation undelivered(const std::string& id) const {
    auto wanted = task(id);
    wanted.to_inbox = false;
    return wanted;
  }
};

RESTANTE_EVERY_BACKEND(DelegationEdgeCases);

TEST_P(DelegationEdgeCases, ARecordedTaskIsNotDelivered) {
  auto wanted = task("d1");
  wanted.recorded = true;
  open(wanted);
  EXPECT_THAT(store->deliver_delegation("d1", at(2)).take()->rows, IsEmpty());
  EXPECT_THAT(inbox_of(callee), IsEmpty());
}

TEST_P(DelegationEdgeCases, ATaskForAWorkspaceThatWasRemovedMeanwhileIsNotDelivered) {
  open(undelivered("d1"));
  remove(callee);
  EXPECT_ERROR(store->deliver_delegation("d1", at(2)).take(), errors::workspace_removed);
  EXPECT_THAT(sweep(at(2'000)).changes, IsEmpty()) << "it waits for its deadline";
  EXPECT_EQ(status_of("d1"), Status::queued);
}

TEST_P(DelegationEdgeCases, TasksForARemovedWorkspaceDoNotKeepTheSweepFromTheOthers) {
  for (const char* id : {"d1", "d2", "d3"}) open(undelivered(id));
  auto last = undelivered("d4");
  last.callee_id = third;
  open(last);
  remove(callee);
  EXPECT_EQ(sweep(at(2'000), 600, 2).changes.size(), 1u);
  EXPECT_FALSE(sweep(at(2'000), 600, 2).more) << "it would be swept again and again";
  EXPECT_TRUE(find("d4").inbox_seq);
}

TEST_P(DelegationEdgeCases, ARemovedWorkspaceCannotDelegate) {
  remove(caller);
  EXPECT_ERROR(try_open(task("d1")), errors::workspace_removed);
  EXPECT_THAT(inbox_of(callee), IsEmpty()) << "and the task was not delivered";
}

TEST_P(DelegationEdgeCases, AChainWhoseFirstTaskWasPrunedCanGrow) {
  open(task("d1"));
  auto second = task("d2");
  second.caller_id = callee;
  second.callee_id = third;
  second.parent_id = "d1";
  open(second);
  report("d1", Status::completed, "done", at(3));
  ASSERT_TRUE(store->prune(at(4), at(4), at(4), 1'000).take());
  EXPECT_ERROR(store->find_delegation("d1"), errors::delegation_not_found);
  auto last = task("d3");
  last.caller_id = third;
  last.callee_id = make_workspace("fourth").id;
  last.parent_id = "d2";
  EXPECT_EQ(open(last, at(5)).delegation.depth, 3);
}

TEST_P(DelegationEdgeCases, AnIdThatWasPrunedIsNotUsedAgainBelowItsOwnPart) {
  open(task("d1"));
  auto second = task("d2");
  second.caller_id = callee;
  second.callee_id = third;
  second.parent_id = "d1";
  open(second);
  report("d1", Status::completed, "done", at(3));
  ASSERT_TRUE(store->prune(at(4), at(4), at(4), 1'000).take());
  auto again = task("d1");
  again.caller_id = third;
  again.callee_id = make_workspace("fourth").id;
  again.parent_id = "d2";
  EXPECT_ERROR(try_open(again), errors::delegation_cycle);
  again.parent_id.clear();
  EXPECT_EQ(open(again, at(5)).delegation.depth, 1) << "elsewhere it may be used";
}

TEST_P(DelegationEdgeCases, ThePrunedTasksOfAChainCountForItsDepth) {
  open(task("d1"));
  auto second = task("d2");
  second.caller_id = callee;
  second.callee_id = third;
  second.parent_id = "d1";
  open(second);
  report("d1", Status::completed, "done", at(3));
  ASSERT_TRUE(store->prune(at(4), at(4), at(4), 1'000).take());
  auto last = task("d3");
  last.caller_id = third;
  last.callee_id = make_workspace("fourth").id;
  last.parent_id = "d2";
  last.limits.depth = 2;
  EXPECT_ERROR(try_open(last), errors::delegation_too_deep);
}

TEST_P(DelegationEdgeCases, EmptyListsAndEndedTasksGiveNothing) {
  EXPECT_THAT(store->pick_up_delegations({}, at(2)).take().value(), IsEmpty());
  EXPECT_THAT(store->delegation_waits({}), IsEmpty());
  open(task("d1"));
  const std::vector<Delegation> ended{report("d1", Status::completed).delegation};
  EXPECT_EQ(store->delegation_waits(ended).at(0).ahead, 0);
  EXPECT_THAT(store->deliver_delegation("d1", at(20)).take()->rows, IsEmpty());
  auto again = task("d2");
  again.retry_of = "d0";
  EXPECT_ERROR(try_open(again), errors::delegation_not_found);
}

TEST_P(DelegationEdgeCases, TheWaitOfATaskIsComputedAlsoFromAnOlderState) {
  const Delegation was = open(task("d1")).delegation;
  const Delegation behind = open(task("d2"), at(2)).delegation;
  const std::vector<Delegation> twice{behind, behind, was};
  for (const auto& wait : {0, 1}) EXPECT_EQ(store->delegation_waits(twice)[static_cast<std::size_t>(wait)].ahead, 1);
  report("d1", Status::completed, "done", at(3));
  report("d2", Status::completed, "done", at(3));
  const auto waits = store->delegation_waits(twice);
  ASSERT_EQ(waits.size(), 3u);
  for (const auto& wait : waits) EXPECT_EQ(wait.ahead, 0);
}

}  // namespace
}  // namespace restante::testing
