// What the desk does not do in a place that may belong to another installation: delete orphans, mark files as damaged,
// delete blobs.
#include "store/owner.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "desk/blob_checks/blob_check.h"
#include "desk/test_desk.h"
#include "desk/uploads/sweep.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using std::chrono::hours;

class OwnerTest : public ::testing::Test {
 protected:
  OwnerTest() {
    owner.ensure_installation();
    EXPECT_EQ(owner.refusal_reason(Place::dir), "");
  }
  FileId stage() {
    auto staging = uploads.stage(workspace, UploadDirection::in, kOperator);
    EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
    EXPECT_TRUE((*staging)->write(std::string(20'000, 'x')).has_value());
    EXPECT_TRUE((*staging)->end_file().has_value());
    return (*staging)->commit().take()->front().upload.id;
  }
  std::string orphan() {
    const auto writer = desk.blobs->put();
    writer->write("perhaps another installation's");
    return writer->finish();
  }
  // Runs a check with repair to its end.
  BlobCheckReport check_all() {
    BlobCheck check(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, {});
    EXPECT_TRUE(check.start(BlobCheck::Mend::yes));
    for (int i = 0; i < 100 && check.report().state == BlobCheckReport::State::running; ++i) {
      try {
        check.tick();
      } catch (const Unavailable&) {  // NOLINT(bugprone-empty-catch): the next one continues
      }
    }
    return check.report();
  }
  std::filesystem::path mark() const { return desk.folder.path() / "blobs" / kMarkName; }
  // Another installation takes the place, or its mark is lost; then the owner is checked.
  void take_away() {
    const OwnerMark theirs{InstallationId::make(desk.clock.now()), MarkId::make(desk.clock.now())};
    std::filesystem::rename(mark(), desk.folder.path() / "aside");
    desk.blobs->put_mark(text_of(theirs), Blobs::MarkMode::anyway);
    EXPECT_NE(owner.refusal_reason(Place::dir), "");
  }
  void give_back() {
    std::filesystem::rename(desk.folder.path() / "aside", mark());
    EXPECT_EQ(owner.refusal_reason(Place::dir), "");
  }

  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  Owner owner{*desk.store, {{Place::dir, *desk.blobs}}, desk.clock, desk.log, desk.metrics, {}};
  Places places{{{Place::dir, *desk.blobs}}, {Place::dir, {}}, desk.log, desk.metrics, &owner};
  Uploads uploads{*desk.store, places, desk.event_bus, desk.clock, desk.log, desk.metrics, {}};
  Sweep sweep{*desk.store, places, uploads.events(), desk.clock, desk.log, desk.metrics, {}};
};

TEST_F(OwnerTest, ASweepDeletesNoOrphanInAForeignPlace) {
  const std::string key = orphan();
  (void)sweep.run_once();  // finds that it has no row
  desk.clock.advance(hours(3));
  take_away();
  EXPECT_THROW((void)sweep.run_once(), Unavailable) << "the operator has to act";
  EXPECT_NE(desk.blobs->open(key), nullptr);
  EXPECT_EQ(desk.metrics.orphans_collected.Value(), 0);
  EXPECT_EQ(desk.metrics.place_not_ours("dir").Value(), 1);
  give_back();
  EXPECT_EQ(desk.metrics.place_not_ours("dir").Value(), 0);
  (void)sweep.run_once();
  desk.clock.advance(hours(3));
  (void)sweep.run_once();
  EXPECT_EQ(desk.blobs->open(key), nullptr) << "once the place is ours again, it is deleted";
}

TEST_F(OwnerTest, ASweepDeletesNoBlobOfADeletedRowInAForeignPlace) {
  const auto upload = desk.store->find_upload(workspace, stage());
  desk.clock.advance(hours(48));
  take_away();
  EXPECT_THROW((void)sweep.run_once(), Unavailable);
  EXPECT_NE(desk.blobs->open(upload->blob_key), nullptr);
  give_back();
  (void)sweep.run_once();
  EXPECT_EQ(desk.blobs->open(upload->blob_key), nullptr) << "the blob was still listed for deletion";
}

TEST_F(OwnerTest, NothingIsMarkedAsDamagedInAForeignPlace) {
  const FileId id = stage();
  const auto upload = desk.store->find_upload(workspace, id);
  desk.blobs->drop(upload->blob_key);
  take_away();
  EXPECT_THROW((void)places.open(upload->keys(), upload->size), Unavailable);
  const BlobCheckReport report = check_all();
  const auto& found = report.found;
  EXPECT_EQ(found.at(static_cast<std::size_t>(BlobFault::missing)), 0);
  EXPECT_EQ(found.at(static_cast<std::size_t>(BlobFault::unreadable)), 1);
  EXPECT_FALSE(desk.store->find_upload(workspace, id)->damage);
  give_back();
  EXPECT_EQ(places.open(upload->keys(), upload->size).blob, nullptr) << "ours, and missing";
}

TEST_F(OwnerTest, ACheckDeletesNoOrphanInAForeignPlace) {
  const std::string key = orphan();
  desk.clock.advance(hours(3));
  take_away();
  const BlobCheckReport report = check_all();
  EXPECT_NE(desk.blobs->open(key), nullptr);
  EXPECT_EQ(report.found.at(static_cast<std::size_t>(BlobFault::orphan)), 0);
  EXPECT_EQ(report.state, BlobCheckReport::State::failed) << "a place that is written to must be checked";
  EXPECT_NE(report.reason.find("another installation"), std::string::npos) << report.reason;
}

// The owner was checked before the page was listed; that does not cover the time when its last orphan is deleted.
TEST_F(OwnerTest, ACheckDeletesNoOrphanOfAPageThatWasListedBeforeThePlaceBecameForeign) {
  const std::string key = orphan();
  desk.clock.advance(hours(3));
  HookedBlobs hooked(*desk.blobs);
  Places taken({{Place::dir, hooked}}, {Place::dir, {}}, desk.log, desk.metrics, &owner);
  BlobCheck check(*desk.store, taken, uploads.integrity(), desk.clock, desk.log, desk.metrics, {});
  hooked.listing = [&] { take_away(); };
  ASSERT_TRUE(check.start(BlobCheck::Mend::yes));
  EXPECT_THROW(check.tick(), Unavailable);
  hooked.listing = nullptr;
  EXPECT_NE(desk.blobs->open(key), nullptr);
  EXPECT_EQ(desk.metrics.orphans_collected.Value(), 0);
  EXPECT_EQ(check.report().found.at(static_cast<std::size_t>(BlobFault::orphan)), 0);
  give_back();
  while (check.report().state == BlobCheckReport::State::running) check.tick();
  EXPECT_EQ(desk.blobs->open(key), nullptr) << "once it is ours again";
  EXPECT_EQ(check.report().mended, 1);
}

TEST_F(OwnerTest, ABlobThatWasJustWrittenIsDroppedAlsoInAForeignPlace) {
  auto staging = uploads.stage(workspace, UploadDirection::in, kOperator);
  ASSERT_TRUE((*staging)->begin_file("f", "").has_value());
  ASSERT_TRUE((*staging)->write(std::string(40'000, 'x')).has_value());
  ASSERT_TRUE((*staging)->end_file().has_value());
  EXPECT_EQ(desk.blob_files(), 2U);
  take_away();
  staging->reset();
  EXPECT_EQ(desk.blob_files(), 1U) << "the mark";
  const std::string key = orphan();
  EXPECT_THROW(places.drop(key), Unavailable) << "the owner of a found blob is unknown";
  EXPECT_NE(desk.blobs->open(key), nullptr);
}

TEST_F(OwnerTest, NothingIsStagedIntoAForeignPlace) {
  take_away();
  auto staging = uploads.stage(workspace, UploadDirection::in, kOperator);
  ASSERT_TRUE(staging);
  EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
  EXPECT_THROW(
      {
        (void)(*staging)->write(std::string(40'000, 'x'));
        (void)(*staging)->end_file();
      },
      Unavailable);
  EXPECT_EQ(desk.blob_files(), 1U) << "the mark";
}

}  // namespace
}  // namespace restante::desk
