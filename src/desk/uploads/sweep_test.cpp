#include "desk/uploads/sweep.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "desk/test_desk.h"
#include "model/errors.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class SweepTest : public ::testing::Test {
 protected:
  static SweepRules small_steps() {
    SweepRules rules;
    rules.step = 3;
    rules.patience = std::chrono::milliseconds(1);
    return rules;
  }
  Upload stage(std::string_view bytes = "small", UploadDirection direction = UploadDirection::in) {
    const Principal agent{Principal::Role::workspace, workspace, {}, false};
    auto staging = desk.uploads.stage(workspace, direction, agent);
    EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
    EXPECT_TRUE((*staging)->write(bytes).has_value());
    EXPECT_TRUE((*staging)->end_file().has_value());
    return (*staging)->commit().take()->at(0).upload;
  }
  Sweep sweep_of(Places& places, const SweepRules& rules) {
    return Sweep(*desk.store, places, desk.uploads.events(), desk.clock, desk.log, desk.metrics, rules);
  }
  void ack(const Upload& upload) { EXPECT_TRUE(desk.uploads.ack(workspace, upload.id).take()); }
  std::string orphan() {
    auto writer = desk.blobs->put();
    writer->write("an orphan");
    return writer->finish();
  }
  // Time passes. The sweep reads the clock often enough to see that it did not jump.
  SweepReport after(std::chrono::microseconds time) {
    desk.clock.advance(time);
    return *sweep.run_once();
  }
  std::vector<std::string> receipts() {
    std::vector<std::string> methods;
    for (const InboxRow& row : desk.inbox_of(workspace)) {
      if (row.activity_type == "upload_receipt") methods.push_back(row.method);
    }
    return methods;
  }

  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  const std::string big = std::string(20'000, 'x');
  HookedBlobs hooked{*desk.blobs};
  Places hooked_places = desk.over(hooked);
  Sweep sweep = sweep_of(desk.places, small_steps());
};

TEST_F(SweepTest, AckedFilesAreDeletedAfterTheirRetentionAndUnackedOnesAfterTheirTime) {
  const Upload taken = stage(big);
  const Upload waiting = stage(big);
  ack(taken);
  EXPECT_EQ(after(hours(1) - seconds(1)).acked, 0);
  SweepReport report = after(seconds(1));
  EXPECT_EQ(report.acked, 1);
  EXPECT_EQ(report.expired, 0);
  EXPECT_EQ(report.blobs, 1);
  EXPECT_EQ(desk.blob_files(), 1u);
  EXPECT_EQ(after(hours(23) - seconds(1)).expired, 0);
  report = after(seconds(1));
  EXPECT_EQ(report.expired, 1);
  EXPECT_EQ(desk.blob_files(), 0u);
  EXPECT_EQ(receipts(), (std::vector<std::string>{"chat_upload_acked", "chat_upload_expired"}));
  EXPECT_EQ(desk.uploads.find(kOperator, workspace, taken.id)->state, UploadState::acked)
      << "the upload's status is kept longer than its content";
  EXPECT_EQ(desk.uploads.find(kOperator, workspace, waiting.id)->state, UploadState::expired);
  EXPECT_EQ(desk.metrics.swept("acked").Value(), 1);
  EXPECT_EQ(desk.metrics.swept("expired").Value(), 1);
}

TEST_F(SweepTest, EverythingDueIsDeletedInSeveralSteps) {
  for (int i = 0; i < 10; ++i) stage(i % 2 == 0 ? "small" : std::string_view(big));
  const SweepReport report = after(hours(24));
  EXPECT_EQ(report.expired, 10);
  EXPECT_EQ(report.blobs, 5);
  EXPECT_EQ(receipts().size(), 10u);
  EXPECT_EQ(after(seconds(1)).expired, 0);
}

TEST_F(SweepTest, ARetentionOfZeroDeletesAckedFilesAtOnce) {
  SweepRules rules;
  rules.ack_retention = seconds(0);
  Sweep at_once = sweep_of(desk.places, rules);
  ack(stage());
  EXPECT_EQ(at_once.run_once()->acked, 1);
}

TEST_F(SweepTest, OutgoingFilesExpireWithoutAReceipt) {
  stage(big, UploadDirection::out);
  EXPECT_EQ(after(hours(24)).expired, 1);
  EXPECT_EQ(desk.blob_files(), 0u);
  EXPECT_TRUE(receipts().empty());
}

TEST_F(SweepTest, BlobsOfRecalledFilesAreDeletedByTheNextSweep) {
  const Upload recalled = stage(big);
  EXPECT_TRUE(desk.uploads.recall({Principal::Role::admin, {}, {}, false}, workspace, recalled.id).take());
  EXPECT_EQ(desk.blob_files(), 1u);
  EXPECT_EQ(after(seconds(1)).blobs, 1);
  EXPECT_EQ(desk.blob_files(), 0u);
}

TEST_F(SweepTest, NothingIsDeletedAfterAClockJump) {
  stage(big);
  EXPECT_FALSE(after(minutes(5)).clock_jumped);
  desk.clock.jump(hours(48));
  SweepReport report = after(seconds(1));
  EXPECT_TRUE(report.clock_jumped);
  EXPECT_EQ(report.expired, 0);
  desk.clock.jump(-hours(48));
  report = after(seconds(1));
  EXPECT_TRUE(report.clock_jumped) << "and back is a jump, too";
  for (int i = 0; i < 3; ++i) report = after(minutes(5));
  EXPECT_FALSE(report.clock_jumped);
  EXPECT_EQ(report.expired, 0);
  EXPECT_EQ(desk.uploads.waiting(kOperator, workspace, {}, 10).size(), 1u) << "nothing was lost";
}

TEST_F(SweepTest, AClockThatWasSetForGoodIsBelievedAfterAPeriod) {
  stage();
  desk.clock.jump(hours(48));
  EXPECT_EQ(after(seconds(1)).expired, 0);
  EXPECT_EQ(after(minutes(5)).expired, 1);
}

TEST_F(SweepTest, ABlobWithoutARowIsDeletedAfterTheLongestRequest) {
  const std::string key = orphan();
  const Upload kept = stage(big);
  EXPECT_EQ(after(seconds(1)).orphans, 0);
  EXPECT_EQ(after(minutes(59)).orphans, 0);
  EXPECT_EQ(after(minutes(1)).orphans, 1);
  EXPECT_FALSE(desk.blobs->open(key));
  EXPECT_TRUE(desk.blobs->open(kept.blob_key));
  EXPECT_EQ(desk.metrics.orphans_collected.Value(), 1);
}

// A slow request: the sweep saw its blob before the blob had a row.
TEST_F(SweepTest, ABlobWhoseRowComesLateIsNoOrphan) {
  auto staging = desk.uploads.stage(workspace, UploadDirection::in, {Principal::Role::admin, {}, {}, false});
  EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
  EXPECT_TRUE((*staging)->write(big).has_value());
  EXPECT_TRUE((*staging)->end_file().has_value());
  EXPECT_EQ(after(seconds(1)).orphans, 0);
  desk.clock.advance(minutes(30));
  const Upload late = (*staging)->commit().take()->at(0).upload;
  EXPECT_EQ(after(minutes(40)).orphans, 0);
  EXPECT_TRUE(desk.blobs->open(late.blob_key));
}

TEST_F(SweepTest, ASuspectThatWasDeletedIsForgotten) {
  const std::string key = orphan();
  EXPECT_EQ(after(seconds(1)).orphans, 0);
  desk.blobs->drop(key);
  EXPECT_EQ(after(hours(2)).orphans, 0);
}

TEST_F(SweepTest, ASuspectCountsFromWhenAServerBeforeTheRestartFoundIt) {
  const std::string key = orphan();
  const Upload kept = stage(big);
  EXPECT_EQ(after(seconds(1)).orphans, 0);
  for (int i = 0; i < 59; ++i) {
    desk.clock.advance(minutes(1));
    EXPECT_EQ(sweep_of(desk.places, small_steps()).run_once()->orphans, 0);
  }
  desk.clock.advance(minutes(1));
  EXPECT_EQ(sweep_of(desk.places, small_steps()).run_once()->orphans, 1);
  EXPECT_FALSE(desk.blobs->open(key));
  EXPECT_TRUE(desk.blobs->open(kept.blob_key));
  EXPECT_TRUE(desk.store->list_orphan_candidates().empty());
}

TEST_F(SweepTest, ASuspectWhoseTimeIsInTheFutureBeginsAnew) {
  const std::string key = orphan();
  EXPECT_TRUE(desk.store->change_orphan_candidates({{key, desk.clock.now() + hours(5)}}, {}).take());
  EXPECT_EQ(after(seconds(1)).orphans, 0);
  EXPECT_EQ(after(hours(1)).orphans, 1);
}

TEST_F(SweepTest, NothingIsDeletedByAgeWhileTheClockIsInDoubt) {
  const Upload waiting = stage(big);
  const std::string key = orphan();
  EXPECT_EQ(after(seconds(1)).orphans, 0);
  desk.clock.doubt(desk.clock.now());
  const SweepReport report = after(hours(40 * 24));
  EXPECT_TRUE(report.clock_jumped);
  EXPECT_EQ(report.expired + report.orphans, 0);
  EXPECT_TRUE(desk.blobs->open(key));
  EXPECT_TRUE(desk.uploads.find(kOperator, workspace, waiting.id));
  EXPECT_EQ(desk.uploads.waiting(kOperator, workspace, {}, 10).size(), 1u) << "its agent still gets it";
  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take());
}

TEST_F(SweepTest, AFileThatComesWhileTheClockIsBehindDoesNotExpireWhenTheClockIsSetRight) {
  const Time right = desk.clock.now();
  desk.clock.doubt(right);
  desk.clock.jump(-hours(40 * 24));
  const Upload waiting = stage(big);
  EXPECT_GT(waiting.expires_at, right);
  desk.clock.jump(hours(40 * 24));
  desk.clock.accept();
  EXPECT_EQ(after(minutes(1)).expired, 0);
  EXPECT_EQ(desk.uploads.waiting(kOperator, workspace, {}, 10).size(), 1u);
}

TEST_F(SweepTest, ASearchAmongManyIsSpreadOverSeveralSweeps) {
  SweepRules rules = small_steps();
  rules.look_at = 1;
  Sweep patient = sweep_of(desk.places, rules);
  for (int i = 0; i < 4; ++i) (void)orphan();
  std::int64_t found = 0;
  int sweeps = 0;
  for (; found < 4 && sweeps < 100; ++sweeps) {
    desk.clock.advance(minutes(61));
    const auto report = patient.run_once();
    EXPECT_LE(report->orphans, 2) << "a sweep reads little more than its limit";
    found += report->orphans;
  }
  EXPECT_EQ(found, 4);
  EXPECT_GT(sweeps, 4);
  EXPECT_EQ(desk.blob_files(), 0u);
}

TEST_F(SweepTest, ASearchThatHasBegunGoesOnBetweenTwoSweepsUnlessTheClockIsInDoubt) {
  SweepRules rules = small_steps();
  rules.look_at = 1;
  rules.every = hours(24);
  Sweep patient = sweep_of(desk.places, rules);
  for (int i = 0; i < 4; ++i) (void)orphan();
  desk.clock.advance(minutes(61));
  patient.tick();  // the only sweep: it begins the search
  const auto found = [&] { return desk.store->list_orphan_candidates().size(); };
  const std::size_t first = found();
  EXPECT_LT(first, 4u);
  const auto ticks = [&] {
    for (int i = 0; i < 20; ++i) {
      desk.clock.advance(seconds(15));
      patient.tick();
    }
  };
  desk.clock.doubt(desk.clock.now());
  ticks();
  EXPECT_EQ(found(), first);
  desk.clock.accept();
  ticks();
  EXPECT_EQ(found(), 4u);
}

TEST_F(SweepTest, NothingDueIsNothingDone) {
  stage();
  const SweepReport report = after(seconds(1));
  EXPECT_EQ(report.acked + report.expired + report.blobs + report.orphans, 0);
}

TEST_F(SweepTest, TheFirstSweepRunsAtOnceAndThenOneEveryPeriod) {
  ack(stage());
  desk.clock.advance(hours(1));
  SweepRules rules;
  Sweep fresh = sweep_of(desk.places, rules);
  fresh.tick();
  EXPECT_EQ(desk.metrics.swept("acked").Value(), 1);
  ack(stage());
  for (int i = 0; i < 13; ++i) {
    desk.clock.advance(minutes(5) - seconds(1));
    fresh.tick();
    desk.clock.advance(seconds(1));
    fresh.tick();
  }
  EXPECT_EQ(desk.metrics.swept("acked").Value(), 2);
}

TEST_F(SweepTest, ReportsTheLastRealSweepAndItsResultNotTheTicksInBetween) {
  Sweep one = sweep_of(hooked_places, SweepRules());
  const Time begin = desk.clock.now();
  const auto loop_tick = [&] {
    return one.last_run().as_loop_tick({"sweep", seconds(1), desk.clock.now(), desk.clock.now(), false, 0}, minutes(5));
  };
  EXPECT_FALSE(loop_tick().last_tick_at) << "no sweep has run";
  one.tick();
  EXPECT_EQ(loop_tick().last_tick_at, begin);
  EXPECT_EQ(loop_tick().period, minutes(5));
  desk.clock.advance(minutes(4));
  one.tick();
  EXPECT_EQ(loop_tick().last_tick_at, begin);
  stage(big);
  desk.clock.advance(hours(24));
  hooked.dropping = [] { throw Unavailable("stuck"); };
  EXPECT_THROW(one.tick(), Unavailable);
  desk.clock.advance(seconds(1));
  one.tick();
  EXPECT_TRUE(loop_tick().failed) << "a tick without a sweep does not reset it";
  EXPECT_EQ(loop_tick().last_tick_at, begin + minutes(4) + hours(24));
  hooked.dropping = nullptr;
  desk.clock.advance(minutes(5));
  one.tick();
  EXPECT_FALSE(loop_tick().failed);
  EXPECT_EQ(loop_tick().last_tick_at, desk.clock.now());
}

TEST_F(SweepTest, TheMetricsOfWaitingFilesAreUpdated) {
  const Upload first = stage();
  desk.clock.advance(seconds(100));
  stage(big);
  sweep.tick();
  EXPECT_EQ(desk.metrics.pending_uploads.Value(), 2);
  EXPECT_EQ(desk.metrics.pending_uploads_bytes.Value(), 20'005);
  EXPECT_EQ(desk.metrics.pending_uploads_oldest_age.Value(), 100);
  ack(first);
  desk.clock.advance(seconds(14));
  sweep.tick();
  EXPECT_EQ(desk.metrics.pending_uploads.Value(), 2) << "counting is expensive, so it is not done every second";
  desk.clock.advance(seconds(1));
  sweep.tick();
  EXPECT_EQ(desk.metrics.pending_uploads.Value(), 1);
  EXPECT_EQ(desk.metrics.pending_uploads_oldest_age.Value(), 15);
}

TEST_F(SweepTest, AFailedSweepIsCountedAndTheNextOneContinues) {
  Sweep failing = sweep_of(hooked_places, small_steps());
  stage(big);
  desk.clock.advance(hours(24));
  hooked.dropping = [] { throw Unavailable("stuck"); };
  EXPECT_THROW((void)failing.run_once(), Unavailable);
  EXPECT_EQ(desk.metrics.swept("error").Value(), 1);
  EXPECT_EQ(desk.metrics.swept("expired").Value(), 1) << "rows are deleted first";
  EXPECT_EQ(desk.blob_files(), 1u);
  hooked.dropping = nullptr;
  const auto report = failing.run_once();
  EXPECT_EQ(report->blobs, 1);
  EXPECT_EQ(report->expired, 0) << "each row once";
  EXPECT_EQ(desk.blob_files(), 0u);
}

// A bucket that is not used any more: blobs to be deleted there stay listed, and everything else is deleted.
TEST_F(SweepTest, AnUnreachablePlaceThatIsNotWrittenToDelaysNothing) {
  const auto real = dir::open(desk.folder.path() / "bucket");
  HookedBlobs bucket(*real);
  Places places({{Place::dir, *desk.blobs}, {Place::s3, bucket}}, {Place::s3, {}}, desk.log, desk.metrics);
  Uploads uploads(*desk.store, places, desk.event_bus, desk.clock, desk.log, desk.metrics, UploadRules());
  Sweep one(*desk.store, places, uploads.events(), desk.clock, desk.log, desk.metrics, small_steps());
  for (int i = 0; i < 7; ++i) {
    auto staging = uploads.stage(workspace, UploadDirection::in, {Principal::Role::admin, {}, {}, false});
    EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
    EXPECT_TRUE((*staging)->write(big).has_value());
    EXPECT_TRUE((*staging)->end_file().has_value());
    EXPECT_EQ((*staging)->commit().take()->at(0).upload.blob_key.substr(0, 3), "s3:");
  }
  places.set_plan({Place::dir, {}});
  stage(big);
  const std::string orphan_key = orphan();
  int asked = 0;
  bucket.dropping = [&asked] {
    ++asked;
    throw Unavailable("no answer");
  };
  EXPECT_EQ(one.run_once()->orphans, 0);
  desk.clock.advance(hours(24));
  EXPECT_EQ(one.run_once()->expired, 8);
  desk.clock.advance(hours(1));  // no request can be reading them any more
  asked = 0;
  const auto report = one.run_once();
  EXPECT_EQ(asked, 1) << "once in a sweep, however many wait there";
  EXPECT_FALSE(desk.blobs->open(orphan_key));
  EXPECT_EQ(desk.blob_files(), 0u);
  EXPECT_EQ(desk.metrics.swept("error").Value(), 0);
  bucket.dropping = nullptr;
  EXPECT_EQ(one.run_once()->blobs, 7) << "all of it was still listed";
}

TEST_F(SweepTest, ASecondSweepIsRefusedWhileOneRuns) {
  Sweep one = sweep_of(hooked_places, small_steps());
  stage(big);
  desk.clock.advance(hours(24));
  std::optional<Error> refused;
  hooked.dropping = [&] {
    std::thread second([&] { refused = one.run_once().error(); });
    second.join();
  };
  EXPECT_EQ(one.run_once()->expired, 1);
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->is(errors::sweep_running));
}

TEST_F(SweepTest, ATickDoesNotWaitForAnotherOne) {
  Sweep one = sweep_of(hooked_places, SweepRules());
  stage(big);
  desk.clock.advance(hours(24));
  bool ticked = false;
  hooked.dropping = [&] {
    std::thread([&] { one.tick(); }).join();
    ticked = true;
  };
  EXPECT_EQ(one.run_once()->blobs, 1);
  EXPECT_TRUE(ticked);
}

TEST_F(SweepTest, MetricsAreUpdatedAlsoBetweenSweepsThatFail) {
  Sweep failing = sweep_of(hooked_places, small_steps());
  stage(big);
  desk.clock.advance(hours(24));
  stage();
  hooked.dropping = [] { throw Unavailable("stuck"); };
  EXPECT_THROW(failing.tick(), Unavailable);
  EXPECT_EQ(desk.metrics.pending_uploads.Value(), 1) << "whatever happens to the blobs";
  stage();
  desk.clock.advance(seconds(16));
  failing.tick();
  EXPECT_EQ(desk.metrics.pending_uploads.Value(), 2);
}

TEST_F(SweepTest, OrphansAreDistinguishedFromNeighboursThatHaveARow) {
  Sweep one = sweep_of(hooked_places, small_steps());
  const std::string known = stage(big).blob_key;
  const std::string shelf = known.substr(30);
  const auto add_orphan = [&](char digit) {
    std::string key = known.substr(0, 12) + std::string(18, digit) + shelf;
    std::ofstream(desk.folder.path() / "blobs" / shelf / key) << "x";
    return key;
  };
  const std::string before = add_orphan('0');
  const std::string after_it = add_orphan('f');
  EXPECT_EQ(one.run_once()->orphans, 0);
  desk.clock.advance(hours(1));
  EXPECT_EQ(one.run_once()->orphans, 2);
  EXPECT_FALSE(desk.blobs->open(before));
  EXPECT_FALSE(desk.blobs->open(after_it));
  EXPECT_TRUE(desk.blobs->open(known));
}

TEST_F(SweepTest, EndsEarlyWhenTheServerStops) {
  for (int i = 0; i < 7; ++i) stage();
  desk.clock.advance(hours(24));
  sweep.stop();
  EXPECT_EQ(sweep.run_once()->expired, 0);
  EXPECT_EQ(desk.sweep.run_once()->expired, 7);
}

}  // namespace
}  // namespace restante::desk
