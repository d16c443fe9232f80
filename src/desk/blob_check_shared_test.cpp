// One check of several servers that share a store: who does it, who tells of it, and what becomes of it when a server
// goes.
#include <gtest/gtest.h>

#include "desk/test_blob_check.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

class SharedBlobCheckTest : public BlobCheckTest {
 protected:
  static BlobCheckRules brief() {
    BlobCheckRules rules;
    rules.slice = std::chrono::milliseconds(0);  // a tick does nothing but tell
    return rules;
  }
  const std::chrono::milliseconds lease = BlobCheckRules().lease;

  BlobCheck other{*desk.store, desk.places, desk.uploads.integrity(), desk.clock, desk.log, desk.metrics, {}};
};

TEST_F(SharedBlobCheckTest, WhatOneFindsEveryOtherTellsAndOneAfterARestartToo) {
  const Upload lost = upload("lost", big);
  desk.blobs->drop(lost.blob_key);
  ASSERT_TRUE(check.start(Mend::no).has_value());
  EXPECT_EQ(other.report().state, State::running);
  EXPECT_EQ(other.report().all_files, 1);
  EXPECT_TRUE(other.start(Mend::yes).error().is(errors::blob_check_running));
  other.tick();
  EXPECT_EQ(check.report().files, 0) << "it is not the other one's";
  while (check.report().state == State::running) check.tick();
  BlobCheck later = make(desk.places);
  for (BlobCheck* one : {&check, &other, &later}) {
    const BlobCheckReport report = one->report();
    EXPECT_EQ(report.state, State::done);
    EXPECT_EQ(report.wrong(), 1);
    EXPECT_EQ(report.started_at, desk.clock.now());
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].file->name, "lost");
  }
  EXPECT_TRUE(other.start(Mend::no).has_value());
}

TEST_F(SharedBlobCheckTest, OneWhoseServerSaysNothingForItsLeaseIsInterruptedAndAnotherMayBegin) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::yes).has_value());
  desk.clock.advance(lease - std::chrono::milliseconds(1));
  EXPECT_EQ(check.report().state, State::running);
  EXPECT_FALSE(check.start(Mend::no).has_value());
  desk.clock.advance(std::chrono::milliseconds(1));
  const BlobCheckReport left = check.report();
  EXPECT_EQ(left.state, State::interrupted);
  EXPECT_EQ(left.all_files, 1);
  EXPECT_TRUE(left.mend);
  EXPECT_EQ(left.reason, "the server that checked is gone");
  EXPECT_EQ(run().state, State::done);
}

TEST_F(SharedBlobCheckTest, OneThatLivesSaysSoThoughItIsAtOneFileForLong) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::no).has_value());
  for (int i = 0; i < 5; ++i) {
    desk.clock.advance(lease - std::chrono::milliseconds(1));
    other.beat();
    EXPECT_EQ(check.report().state, State::running);
  }
  check.beat();  // which has none
  while (other.report().state == State::running) other.tick();
  other.beat();
  EXPECT_EQ(check.report().state, State::done);
}

TEST_F(SharedBlobCheckTest, ProgressIsWrittenAboutOnceASecondNotWithEveryQuestionOfABeat) {
  ASSERT_TRUE(other.start(Mend::no).has_value());
  const Time begun_until = desk.store->find_blob_check()->worker_until;
  desk.clock.advance(std::chrono::milliseconds(999));
  other.beat();
  EXPECT_EQ(desk.store->find_blob_check()->worker_until, begun_until);
  desk.clock.advance(std::chrono::milliseconds(1));
  other.beat();
  EXPECT_EQ(desk.store->find_blob_check()->worker_until, begun_until + std::chrono::seconds(1));
}

TEST_F(SharedBlobCheckTest, OneThatWasTakenOverFromGivesUpAndCanBeginAgainLater) {
  upload("large", big);
  BlobCheck slow = make(desk.places, brief());
  ASSERT_TRUE(slow.start(Mend::no).has_value());
  desk.clock.advance(lease);
  ASSERT_TRUE(other.start(Mend::yes).has_value());
  EXPECT_TRUE(slow.start(Mend::no).error().is(errors::blob_check_running));
  slow.tick();
  slow.tick();
  EXPECT_TRUE(other.report().mend);
  while (other.report().state == State::running) other.tick();
  EXPECT_EQ(slow.report().state, State::done) << "the other one's";
  ASSERT_TRUE(slow.start(Mend::no).has_value());
  slow.tick();
  EXPECT_EQ(other.report().state, State::running) << "it does not take itself for lost";
}

TEST_F(SharedBlobCheckTest, AServerThatLeavesSaysThatItHasStopped) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::no).has_value());
  other.release();
  EXPECT_EQ(check.report().state, State::stopped);
  EXPECT_TRUE(check.report().ended_at);
  check.release();
  EXPECT_TRUE(check.start(Mend::no).has_value());
}

// Its end was reached while the rows could not be written.
TEST_F(SharedBlobCheckTest, AnEndThatCouldNotBeToldIsToldLater) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::no).has_value());
  edit("ALTER TABLE blob_checks RENAME TO elsewhere");
  EXPECT_THROW(other.tick(), Unavailable);
  EXPECT_TRUE(other.start(Mend::no).error().is(errors::blob_check_running));
  edit("ALTER TABLE elsewhere RENAME TO blob_checks");
  EXPECT_EQ(check.report().state, State::running);
  desk.clock.advance(std::chrono::seconds(1));
  other.beat();
  EXPECT_EQ(check.report().state, State::done);
  EXPECT_EQ(check.report().files, 1);
  EXPECT_EQ(check.report().reason, "") << "that it was told late is not of the check";
}

TEST_F(SharedBlobCheckTest, AnEndThatCouldNotBeToldIsNoFailureThoughItWereTheLastOneAllowed) {
  upload("large", big);
  BlobCheckRules rules;
  rules.attempts = 1;
  BlobCheck strict = make(desk.places, rules);
  ASSERT_TRUE(strict.start(Mend::no).has_value());
  edit("ALTER TABLE blob_checks RENAME TO elsewhere");
  EXPECT_THROW(strict.tick(), Unavailable);
  edit("ALTER TABLE elsewhere RENAME TO blob_checks");
  strict.tick();  // which has nothing left to do
  EXPECT_EQ(check.report().state, State::running);
  desk.clock.advance(std::chrono::seconds(1));
  strict.beat();
  EXPECT_EQ(check.report().state, State::done);
  EXPECT_EQ(check.report().reason, "");
}

TEST_F(SharedBlobCheckTest, WhereThereIsNoOtherServerNobodyWaitsForALease) {
  ASSERT_TRUE(other.start(Mend::no).has_value());
  BlobCheckRules rules;
  rules.alone = true;
  BlobCheck restarted = make(desk.places, rules);
  EXPECT_EQ(restarted.report().state, State::interrupted);
  EXPECT_EQ(run(restarted).state, State::done);
}

}  // namespace
}  // namespace restante::desk
