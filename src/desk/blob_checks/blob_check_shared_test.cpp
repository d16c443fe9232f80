// One blob check of several servers that share a store: which server runs it, which ones report it, and what happens
// when a server stops.
#include <gtest/gtest.h>

#include "desk/blob_checks/test_blob_check.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

class SharedBlobCheckTest : public BlobCheckTest {
 protected:
  static BlobCheckRules brief() {
    BlobCheckRules rules;
    rules.slice = std::chrono::milliseconds(0);  // a tick only saves progress
    return rules;
  }
  const std::chrono::milliseconds lease = BlobCheckRules().lease;

  BlobCheck other{*desk.store, desk.places, desk.uploads.integrity(), desk.clock, desk.log, desk.metrics, {}};
};

TEST_F(SharedBlobCheckTest, EveryServerReportsWhatOneHasFoundAlsoAfterARestart) {
  const Upload lost = upload("lost", big);
  desk.blobs->drop(lost.blob_key);
  ASSERT_TRUE(check.start(Mend::no).has_value());
  EXPECT_EQ(other.report().state, State::running);
  EXPECT_EQ(other.report().all_files, 1);
  EXPECT_TRUE(other.start(Mend::yes).error().is(errors::blob_check_running));
  other.tick();
  EXPECT_EQ(check.report().files, 0) << "the other server's check is not counted";
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

TEST_F(SharedBlobCheckTest, ACheckWhoseServerDoesNotRenewItsLeaseIsInterruptedAndAnotherMayBegin) {
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
  EXPECT_EQ(left.reason, "the server that ran the check has stopped");
  EXPECT_EQ(run().state, State::done);
}

TEST_F(SharedBlobCheckTest, ARunningCheckRenewsItsLeaseWhileItReadsOneLargeFile) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::no).has_value());
  for (int i = 0; i < 5; ++i) {
    desk.clock.advance(lease - std::chrono::milliseconds(1));
    other.beat();
    EXPECT_EQ(check.report().state, State::running);
  }
  check.beat();  // has no check to save
  while (other.report().state == State::running) other.tick();
  other.beat();
  EXPECT_EQ(check.report().state, State::done);
}

TEST_F(SharedBlobCheckTest, ProgressIsWrittenAboutOnceASecondNotWithEveryBeat) {
  ASSERT_TRUE(other.start(Mend::no).has_value());
  const Time begun_until = desk.store->find_blob_check()->worker_until;
  desk.clock.advance(std::chrono::milliseconds(999));
  other.beat();
  EXPECT_EQ(desk.store->find_blob_check()->worker_until, begun_until);
  desk.clock.advance(std::chrono::milliseconds(1));
  other.beat();
  EXPECT_EQ(desk.store->find_blob_check()->worker_until, begun_until + std::chrono::seconds(1));
}

TEST_F(SharedBlobCheckTest, AServerThatLostItsCheckGivesUpAndCanBeginAgainLater) {
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
  EXPECT_EQ(slow.report().state, State::done) << "the report is the other server's";
  ASSERT_TRUE(slow.start(Mend::no).has_value());
  slow.tick();
  EXPECT_EQ(other.report().state, State::running) << "the new check keeps its lease";
}

TEST_F(SharedBlobCheckTest, AServerThatStopsReportsItsCheckAsStopped) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::no).has_value());
  other.release();
  EXPECT_EQ(check.report().state, State::stopped);
  EXPECT_TRUE(check.report().ended_at);
  check.release();
  EXPECT_TRUE(check.start(Mend::no).has_value());
}

// The check ends while the store cannot be written.
TEST_F(SharedBlobCheckTest, AnEndThatCouldNotBeSavedIsSavedLater) {
  upload("large", big);
  ASSERT_TRUE(other.start(Mend::no).has_value());
  edit("ALTER TABLE blob_checks RENAME TO renamed_away");
  EXPECT_THROW(other.tick(), Unavailable);
  EXPECT_TRUE(other.start(Mend::no).error().is(errors::blob_check_running));
  edit("ALTER TABLE renamed_away RENAME TO blob_checks");
  EXPECT_EQ(check.report().state, State::running);
  desk.clock.advance(std::chrono::seconds(1));
  other.beat();
  EXPECT_EQ(check.report().state, State::done);
  EXPECT_EQ(check.report().files, 1);
  EXPECT_EQ(check.report().reason, "") << "saving late is no fault of the check";
}

TEST_F(SharedBlobCheckTest, AnEndThatCouldNotBeSavedIsNotCountedAsAFailedAttempt) {
  upload("large", big);
  BlobCheckRules rules;
  rules.attempts = 1;
  BlobCheck strict = make(desk.places, rules);
  ASSERT_TRUE(strict.start(Mend::no).has_value());
  edit("ALTER TABLE blob_checks RENAME TO renamed_away");
  EXPECT_THROW(strict.tick(), Unavailable);
  edit("ALTER TABLE renamed_away RENAME TO blob_checks");
  strict.tick();  // has nothing left to do
  EXPECT_EQ(check.report().state, State::running);
  desk.clock.advance(std::chrono::seconds(1));
  strict.beat();
  EXPECT_EQ(check.report().state, State::done);
  EXPECT_EQ(check.report().reason, "");
}

TEST_F(SharedBlobCheckTest, WithoutOtherServersNoLeaseIsWaitedFor) {
  ASSERT_TRUE(other.start(Mend::no).has_value());
  BlobCheckRules rules;
  rules.alone = true;
  BlobCheck restarted = make(desk.places, rules);
  EXPECT_EQ(restarted.report().state, State::interrupted);
  EXPECT_EQ(run(restarted).state, State::done);
}

}  // namespace
}  // namespace restante::desk
