#include "desk/inbox/search.h"

#include <gmock/gmock.h>

#include "desk/inbox/inbox.h"
#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Rows of one inbox, by number: the matching ones. Records from where each step reads.
class Rows final : public InboxStore {
 public:
  Result<InboxStep> search_inbox(WorkspaceId, const InboxQuery& query, int most) override {
    asked.push_back(query);
    const std::int64_t cursor = query.above_seq ? *query.above_seq : query.since_seq.value_or(0);
    if (query.since_seq && *query.since_seq > last) return errors::cursor_gone;
    InboxStep step;
    if (cursor == last) return step;
    step.from = cursor;
    step.to = std::min(last, cursor + most);
    step.more = *step.to - cursor == most;
    for (const std::int64_t seq : matching) {
      if (seq <= *step.from || seq > *step.to) continue;
      step.rows.emplace_back();
      step.rows.back().seq = seq;
    }
    return step;
  }
  // The position from which the last steps have read; the others are forgotten.
  std::vector<std::int64_t> positions() {
    std::vector<std::int64_t> all;
    for (const InboxQuery& query : std::exchange(asked, {})) {
      all.push_back(query.above_seq ? *query.above_seq : query.since_seq.value_or(-1));
    }
    return all;
  }

  std::int64_t last = 0;
  std::vector<std::int64_t> matching;
  std::vector<InboxQuery> asked;

 private:
  [[noreturn]] static void not_used() { throw std::logic_error("a search only searches"); }
  Commit<Result<Appended>> append_to_inbox(WorkspaceId, const NewInboxRow&, Time, OptionalClaim<Appended>) override {
    not_used();
  }
  Commit<Result<SentMessage>> append_to_inbox_with_files(WorkspaceId, const NewInboxRow&, std::vector<OutgoingFile>,
                                                         const StagingTerms&, Time,
                                                         OptionalClaim<SentMessage>) override {
    not_used();
  }
  Commit<Result<std::int64_t>> ack_inbox(WorkspaceId, std::int64_t) override { not_used(); }
  Result<InboxHead> find_head(WorkspaceId) override { not_used(); }
  Commit<Result<Pruned>> prune(Time, Time, Time, int, std::optional<WorkspaceId>) override { not_used(); }
  Commit<Result<Epoch>> begin_epoch(Time) override { not_used(); }
  std::vector<FileId> find_named_files(WorkspaceId, NamedBy, const std::vector<FileId>&) override { not_used(); }
  Result<std::vector<InboxRow>> read_inbox(WorkspaceId, const InboxQuery&) override { not_used(); }
};

class InboxSearchTest : public ::testing::Test {
 protected:
  static InboxQuery since(std::int64_t seq) {
    InboxQuery query;
    query.type = "agent_log";
    query.since_seq = seq;
    return query;
  }
  std::vector<std::int64_t> next(InboxSearch& search) {
    std::vector<std::int64_t> found;
    const auto matching = search.next();
    EXPECT_TRUE(matching);
    for (const InboxRow& row : *matching) found.push_back(row.seq);
    return found;
  }

  Rows store;
  InboxGaps gaps;
  const WorkspaceId workspace = WorkspaceId::make(kStart);
};

TEST_F(InboxSearchTest, AnEmptyLookMovesTheLowerBoundOfAHeldPoll) {
  store.last = 80'000;
  InboxSearch search(store, gaps, workspace, since(5));
  do {
    EXPECT_THAT(next(search), IsEmpty());
  } while (search.unfinished());
  EXPECT_EQ(store.positions().size(), 80u) << "in bounded steps";
  for (int ring = 0; ring < 3; ++ring) {
    ++store.last;
    EXPECT_THAT(next(search), IsEmpty());
    EXPECT_THAT(store.positions(), ElementsAre(store.last - 1)) << "only the new row";
  }
  store.matching = {++store.last};
  EXPECT_THAT(next(search), ElementsAre(store.last));
}

TEST_F(InboxSearchTest, TheNextRequestWithTheSameCursorSkipsWhatAnEarlierOneLookedAt) {
  store.last = 10'000;
  InboxSearch first(store, gaps, workspace, since(0));
  do next(first);
  while (first.unfinished());
  store.positions();
  ++store.last;
  InboxSearch second(store, gaps, workspace, since(0));
  EXPECT_THAT(next(second), IsEmpty());
  EXPECT_THAT(store.positions(), ElementsAre(10'000));
  InboxQuery other = since(0);
  other.type = "a2a_receive";
  InboxSearch different(store, gaps, workspace, other);
  next(different);
  EXPECT_THAT(store.positions(), ElementsAre(0)) << "another filter may match";
  InboxSearch elsewhere(store, gaps, WorkspaceId::make(kStart), since(0));
  next(elsewhere);
  EXPECT_THAT(store.positions(), ElementsAre(0)) << "another inbox";
}

TEST_F(InboxSearchTest, ARowBeforeAGapIsFound) {
  store.last = 3'000;
  InboxSearch late(store, gaps, workspace, since(2'000));
  do next(late);
  while (late.unfinished());
  store.matching = {100};
  InboxSearch early(store, gaps, workspace, since(0));
  EXPECT_THAT(next(early), ElementsAre(100));
}

TEST_F(InboxSearchTest, ACursorThatDoesNotExistIsRefusedAlsoNearAGap) {
  store.last = 10;
  InboxSearch search(store, gaps, workspace, since(11));
  EXPECT_FALSE(search.next());
}

TEST_F(InboxSearchTest, AfterALostConnectionEverythingIsLookedAtAgainFromTheCursor) {
  store.last = 500;
  InboxSearch held(store, gaps, workspace, since(3));
  EXPECT_THAT(next(held), IsEmpty());
  gaps.forget();
  store.matching = {400};  // an older copy of the database gave the number again
  EXPECT_THAT(next(held), ElementsAre(400));
  InboxSearch fresh(store, gaps, workspace, since(0));
  EXPECT_THAT(next(fresh), ElementsAre(400));
}

TEST(InboxGaps, GapsThatTouchAreOneAndTheOldestFilterIsForgotten) {
  InboxGaps gaps;
  const WorkspaceId workspace = WorkspaceId::make(kStart);
  InboxQuery query;
  query.above_seq = 0;
  query.type = "a";
  gaps.add(0, workspace, query, 0, 11);
  gaps.add(0, workspace, query, 10, 21);
  EXPECT_EQ(gaps.skip(workspace, query, 0), 20);
  EXPECT_EQ(gaps.skip(workspace, query, 20), 20);
  EXPECT_EQ(gaps.skip(workspace, query, 25), 25);
  for (int i = 0; i < 8; ++i) {
    InboxQuery other = query;
    other.type = std::to_string(i);
    gaps.add(0, workspace, other, 0, 11);
  }
  EXPECT_EQ(gaps.skip(workspace, query, 0), 0);
}

TEST(InboxGaps, WhatWasReadBeforeALostConnectionIsNotAdded) {
  InboxGaps gaps;
  const WorkspaceId workspace = WorkspaceId::make(kStart);
  InboxQuery query;
  query.above_seq = 0;
  query.type = "a";
  const auto generation = gaps.generation();
  gaps.forget();
  gaps.add(generation, workspace, query, 0, 11);
  EXPECT_EQ(gaps.skip(workspace, query, 0), 0);
}

TEST(InboxReading, AFilterOverALongInboxIsReadInStepsAndAnsweredOnce) {
  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  Inbox inbox(*desk.store, desk.presence, desk.event_bus, desk.clock);
  NewInboxRow row;
  row.activity_type = "agent_log";
  for (int i = 0; i < 1'100; ++i) ASSERT_TRUE(inbox.append_own_row(workspace, row).take());
  row.activity_type = "task_update";
  ASSERT_TRUE(inbox.append_own_row(workspace, row).take());
  InboxQuery query;
  query.since_seq = 0;
  query.type = "task_update";
  const auto reading = inbox.reading(kOperator, workspace, query);
  int steps = 1;
  auto rows = reading->next();
  for (; rows && rows->empty() && reading->unfinished(); rows = reading->next()) ++steps;
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().seq, 1'101);
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace restante::desk
