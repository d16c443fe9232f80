#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "desk/blob_checks/test_blob_check.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(BlobCheckTest, WithoutFaultsItFindsNothingAndReportsHowMuchItRead) {
  upload("small", "hello");
  upload("large", big);
  EXPECT_EQ(check.report().state, State::none);
  const BlobCheckReport report = run();
  EXPECT_EQ(report.state, State::done);
  EXPECT_EQ(report.files, 2);
  EXPECT_EQ(report.all_files, 2);
  EXPECT_EQ(report.blobs, 1);
  EXPECT_EQ(report.bytes, 5 + 20'000);
  EXPECT_EQ(report.wrong(), 0);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_TRUE(report.ended_at);
}

TEST_F(BlobCheckTest, EveryKindOfFaultIsReportedAndNotChanged) {
  const Upload lost = upload("lost", big);
  const Upload spoilt = upload("spoilt", big);
  const Upload cut = upload("cut", big);
  const Upload grown = upload("grown", big);
  const Upload in_row = upload("row", "kept in the row");
  upload("sound", big);
  desk.blobs->drop(lost.blob_key);
  spoil(file_of(spoilt.blob_key));
  std::filesystem::resize_file(file_of(cut.blob_key), 19'999);
  std::filesystem::resize_file(file_of(grown.blob_key), 20'001);
  edit("UPDATE upload_contents SET content = CAST('kept in the rov' AS BLOB)");
  const std::string orphan_key = orphan(*desk.blobs);
  std::ofstream(desk.folder.path() / "blobs" / "tmp" / "begun") << "half";
  std::filesystem::last_write_time(desk.folder.path() / "blobs" / "tmp" / "begun",
                                   std::filesystem::file_time_type::clock::now() - hours(24 * 365 * 50));

  const BlobCheckReport report = run();
  EXPECT_EQ(found(report, BlobFault::missing), 1);
  EXPECT_EQ(found(report, BlobFault::changed), 4);
  EXPECT_EQ(found(report, BlobFault::orphan), 1);
  EXPECT_EQ(found(report, BlobFault::unfinished), 1);
  EXPECT_EQ(report.wrong(), 7);
  EXPECT_EQ(report.mended, 0);
  std::vector<std::string> names;
  for (const BlobFinding& finding : report.findings) names.push_back(finding.file ? finding.file->name : "");
  EXPECT_THAT(names, UnorderedElementsAre("lost", "spoilt", "cut", "grown", "row", ""));
  for (const BlobFinding& finding : report.findings) {
    EXPECT_EQ(finding.blob, finding.file ? row_of(finding.file->id).blob_key : orphan_key);
  }

  for (const Upload& one : {lost, spoilt, cut, grown, in_row}) EXPECT_FALSE(row_of(one).damage) << one.name;
  EXPECT_TRUE(desk.blobs->open(orphan_key));
  EXPECT_TRUE(std::filesystem::exists(desk.folder.path() / "blobs" / "tmp" / "begun"));
  EXPECT_EQ(receipts(), 0u);

  const BlobCheckReport mended = run(Mend::yes);
  EXPECT_EQ(mended.wrong(), 0);
  EXPECT_EQ(mended.mended, 7);
  EXPECT_EQ(row_of(lost).damage, UploadDamage::missing);
  for (const Upload& one : {spoilt, cut, grown, in_row}) EXPECT_EQ(row_of(one).damage, UploadDamage::changed);
  EXPECT_FALSE(desk.blobs->open(orphan_key));
  EXPECT_FALSE(std::filesystem::exists(desk.folder.path() / "blobs" / "tmp" / "begun"));
  EXPECT_EQ(receipts(), 5u) << "every sender gets a receipt";
  EXPECT_EQ(desk.metrics.uploads_damaged("changed").Value(), 4);

  const BlobCheckReport again = run();
  EXPECT_EQ(found(again, BlobFault::missing) + found(again, BlobFault::changed), 5);
  EXPECT_EQ(again.wrong(), 0) << "marked files are not counted as wrong";
  EXPECT_EQ(receipts(), 5u);
}

TEST_F(BlobCheckTest, OnlyOneRunsAtATime) {
  upload("large", big);
  ASSERT_TRUE(check.start(Mend::no).has_value());
  const auto second = check.start(Mend::yes);
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().is(errors::blob_check_running));
  while (check.report().state == State::running) check.tick();
  EXPECT_FALSE(check.report().mend);
  EXPECT_TRUE(check.start(Mend::yes).has_value());
}

TEST_F(BlobCheckTest, TheNextCheckBeginsAtTheBeginning) {
  const Upload one = upload("large", big);
  EXPECT_EQ(run().files, 1);
  spoil(file_of(one.blob_key));
  const BlobCheckReport second = run();
  EXPECT_EQ(second.files, 1);
  EXPECT_EQ(second.wrong(), 1);
}

// The request that wrote it may still be running.
TEST_F(BlobCheckTest, AYoungBlobWithoutARowIsNoOrphan) {
  BlobCheckRules patient;
  patient.grace = hours(24 * 365 * 100);
  BlobCheck check_of_old = make(desk.places, patient);
  (void)orphan(*desk.blobs);
  EXPECT_EQ(run(check_of_old, Mend::yes).wrong(), 0);
  EXPECT_EQ(desk.blob_files(), 1u);
}

TEST_F(BlobCheckTest, AClockThatWasJustSetDeletesNoOrphan) {
  const std::string orphan_key = orphan(*desk.blobs);
  check.tick();
  desk.clock.jump(hours(48));
  const BlobCheckReport report = run(Mend::yes);
  EXPECT_EQ(report.wrong(), 1) << "it is a finding";
  EXPECT_TRUE(desk.blobs->open(orphan_key)) << "and is not deleted";
}

TEST_F(BlobCheckTest, AFileThatCannotBeReadIsReportedAndNotMarked) {
  HookedBlobs blobs(*desk.blobs);
  Places places = desk.over(blobs);
  BlobCheck broken = make(places);
  const Upload one = upload("a.bin", big);
  blobs.opening = [] { throw Unavailable("the disk is broken"); };
  const BlobCheckReport report = run(broken, Mend::yes);
  EXPECT_EQ(found(report, BlobFault::unreadable), 1);
  EXPECT_EQ(report.wrong(), 1);
  EXPECT_EQ(report.findings.at(0).reason, "the disk is broken");
  EXPECT_FALSE(row_of(one).damage);
}

TEST_F(BlobCheckTest, AFileThatIsDeletedWhileItIsCheckedIsNotReported) {
  HookedBlobs blobs(*desk.blobs);
  Places places = desk.over(blobs);
  BlobCheck racing = make(places);
  const Upload one = upload("a.bin", big);
  blobs.opening = [&] {
    (void)desk.uploads.recall(admin, workspace, one.id).take();
    desk.blobs->drop(one.blob_key);
  };
  EXPECT_EQ(run(racing, Mend::yes).wrong(), 0);
}

TEST_F(BlobCheckTest, AfterAStopItReadsNothingMore) {
  upload("a.bin", big);
  ASSERT_TRUE(check.start(Mend::yes).has_value());
  check.stop();
  check.tick();
  EXPECT_EQ(check.report().state, State::stopped);
  EXPECT_EQ(check.report().bytes, 0);
}

TEST_F(BlobCheckTest, AStopInTheMiddleOfAFileDecidesNothing) {
  HookedBlobs blobs(*desk.blobs);
  Places places = desk.over(blobs);
  BlobCheck ending = make(places);
  const Upload spoilt = upload("a.bin", big);
  spoil(file_of(spoilt.blob_key));
  blobs.opening = [&] { ending.stop(); };
  EXPECT_EQ(run(ending, Mend::yes).state, State::stopped);
  EXPECT_FALSE(row_of(spoilt).damage);
}

TEST_F(BlobCheckTest, AllFindingsAreCountedAndTheFirstAreKept) {
  BlobCheckRules few;
  few.findings = 2;
  BlobCheck brief = make(desk.places, few);
  for (int i = 0; i < 5; ++i) desk.blobs->drop(upload("lost", big).blob_key);
  const BlobCheckReport report = run(brief);
  EXPECT_EQ(found(report, BlobFault::missing), 5);
  EXPECT_EQ(report.findings.size(), 2u);
}

// Throws as often as `refusals` says.
std::function<void()> refusing(int& refusals) {
  return [&refusals] {
    if (refusals-- > 0) throw Unavailable("it does not answer");
  };
}

TEST_F(BlobCheckTest, APlaceThatDoesNotAnswerDelaysTheCheckAndFailsItOnlyAfterSeveralAttempts) {
  int refusals_left = 0;
  HookedBlobs blobs(*desk.blobs);
  blobs.listing = refusing(refusals_left);
  Places places = desk.over(blobs);
  BlobCheckRules rules;
  rules.attempts = 3;
  BlobCheck patient = make(places, rules);
  upload("a.bin", big);
  for (const int refusals : {2, 3}) {
    refusals_left = refusals;
    ASSERT_TRUE(patient.start(Mend::no).has_value());
    for (int i = 0; i < 2; ++i) {
      EXPECT_THROW(patient.tick(), Unavailable);
      EXPECT_EQ(patient.report().reason, "it does not answer");
    }
    while (patient.report().state == State::running) patient.tick();
    EXPECT_EQ(patient.report().state, refusals == 2 ? State::done : State::failed);
    EXPECT_EQ(patient.report().files, 1) << "finished files are not checked again";
  }
  EXPECT_EQ(patient.report().reason, "it does not answer");
}

TEST_F(BlobCheckTest, AnUnreachablePlaceThatIsNotWrittenToIsAFinding) {
  const auto real = dir::open(desk.folder.path() / "bucket");
  int refusals = 0;
  HookedBlobs bucket(*real);
  bucket.listing = refusing(refusals);
  Places places({{Place::dir, *desk.blobs}, {Place::s3, bucket}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobCheck one = make(places);
  for (const Mend mend : {Mend::no, Mend::yes}) {
    const std::string orphan_key = orphan(*desk.blobs);
    refusals = 1'000;
    const BlobCheckReport report = run(one, mend);
    EXPECT_EQ(report.state, State::done);
    EXPECT_EQ(found(report, BlobFault::orphan), 1) << "the other places are checked";
    EXPECT_EQ(found(report, BlobFault::out_of_reach), 1);
    EXPECT_EQ(report.wrong(), mend == Mend::yes ? 1 : 2);
    ASSERT_EQ(report.findings.size(), 2u);
    EXPECT_EQ(report.findings[1].place, Place::s3);
    EXPECT_EQ(report.findings[1].reason, "it does not answer");
    desk.blobs->drop(orphan_key);
  }
  refusals = 0;
  EXPECT_EQ(run(one).wrong(), 0) << "once it answers, it is no finding";
}

TEST_F(BlobCheckTest, ARowThatCannotBeReadIsTriedAgainAndThenAFinding) {
  BlobCheckRules rules;
  rules.row_attempts = 2;
  BlobCheck one = make(desk.places, rules);
  const Upload lost = upload("lost", big);
  upload("row", "kept in the row");
  desk.blobs->drop(lost.blob_key);
  ASSERT_TRUE(one.start(Mend::no).has_value());
  edit("ALTER TABLE upload_contents RENAME TO renamed_away");
  EXPECT_THROW(one.tick(), Unavailable);
  EXPECT_EQ(one.report().files, 0) << "it is not skipped at once";
  while (one.report().state == State::running) {
    try {
      one.tick();
    } catch (const Unavailable&) {  // NOLINT(bugprone-empty-catch): the next one continues
    }
  }
  edit("ALTER TABLE renamed_away RENAME TO upload_contents");
  const BlobCheckReport report = one.report();
  EXPECT_EQ(report.state, State::done);
  EXPECT_EQ(report.files, 2);
  EXPECT_EQ(found(report, BlobFault::unreadable), 2);
  EXPECT_EQ(report.wrong(), 2);
  EXPECT_THAT(report.findings.at(0).reason, ::testing::HasSubstr("upload_contents"));
  EXPECT_EQ(run(one).findings.at(0).fault, BlobFault::missing) << "the next read succeeds";
}

// Files in two places, as during a blob move.
class BlobSecondCopyTest : public BlobCheckTest {
 protected:
  Upload stage_in_two_places(std::string_view name) {
    auto staging = uploads.stage(workspace, UploadDirection::in, admin);
    add(**staging, name, big);
    Upload upload = (*staging)->commit().take()->at(0).upload;
    EXPECT_FALSE(upload.twin_key.empty());
    return upload;
  }
  std::string bytes_of(const std::string& key) {
    const auto blob = places.open(key);
    if (!blob) return "nothing";
    std::string bytes(big.size(), '\0');
    bytes.resize(blob->read(0, bytes));
    return bytes;
  }

  std::unique_ptr<Blobs> second = dir::open(desk.folder.path() / "second");
  Places places{{{Place::dir, *desk.blobs}, {Place::s3, *second}}, {Place::s3, Place::dir}, desk.log, desk.metrics};
  Uploads uploads{*desk.store, places, desk.event_bus, desk.clock, desk.log, desk.metrics, small_rules()};
  BlobCheck both{*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobCheckRules()};
};

TEST_F(BlobSecondCopyTest, AWrongCopyIsReplacedFromTheRightOneWhicheverItIs) {
  const Upload first_lost = stage_in_two_places("first lost");
  const Upload first_spoilt = stage_in_two_places("first spoilt");
  const Upload second_lost = stage_in_two_places("second lost");
  const Upload second_spoilt = stage_in_two_places("second spoilt");
  const Upload sound = stage_in_two_places("sound");
  places.drop(first_lost.blob_key);
  spoil(file_of(first_spoilt.blob_key, "second"));
  places.drop(second_lost.twin_key);
  spoil(file_of(second_spoilt.twin_key));
  const BlobCheckReport looked = run(both);
  EXPECT_EQ(found(looked, BlobFault::missing), 2);
  EXPECT_EQ(found(looked, BlobFault::changed), 2);
  EXPECT_EQ(looked.wrong(), 4);
  EXPECT_EQ(row_of(first_lost).keys(), first_lost.keys());

  const BlobCheckReport report = run(both, Mend::yes);
  EXPECT_EQ(report.wrong(), 0);
  EXPECT_EQ(report.mended, 4);
  for (const BlobFinding& finding : report.findings) EXPECT_EQ(finding.remedy, BlobRemedy::restored);
  for (const Upload& one : {first_lost, first_spoilt, second_lost, second_spoilt, sound}) {
    const Upload now = row_of(one);
    EXPECT_FALSE(now.damage) << one.name;
    for (const std::string& key : {now.blob_key, now.twin_key}) EXPECT_EQ(bytes_of(key), big) << one.name;
    EXPECT_EQ(parse_key(now.blob_key)->place, Place::s3);
    EXPECT_EQ(parse_key(now.twin_key)->place, Place::dir);
  }
  EXPECT_EQ(row_of(sound).keys(), sound.keys());
  EXPECT_EQ(receipts(), 0u) << "no file was lost";
  EXPECT_EQ(run(both).found, (std::array<std::int64_t, kBlobFaults.size()>{})) << "neither faults nor orphans are left";
}

TEST_F(BlobSecondCopyTest, AFileWithTwoWrongCopiesIsDamaged) {
  const Upload one = stage_in_two_places("a.bin");
  places.drop(one.blob_key);
  spoil(file_of(one.twin_key));
  const BlobCheckReport report = run(both, Mend::yes);
  EXPECT_EQ(report.wrong(), 0);
  EXPECT_EQ(row_of(one).damage, UploadDamage::changed);
  EXPECT_EQ(receipts(), 1u);
}

TEST_F(BlobSecondCopyTest, ACopyThatCannotBeReplacedStaysAFindingWithItsReason) {
  const Upload one = stage_in_two_places("a.bin");
  const Upload other = stage_in_two_places("b.bin");
  places.drop(one.blob_key);
  places.drop(other.blob_key);
  HookedBlobs read_only(*second);
  read_only.putting = [] { throw Unavailable("it takes nothing"); };
  Places there({{Place::dir, *desk.blobs}, {Place::s3, read_only}}, {Place::s3, Place::dir}, desk.log, desk.metrics);
  BlobCheck check_there = make(there);
  const BlobCheckReport report = run(check_there, Mend::yes);
  EXPECT_EQ(report.state, State::done);
  EXPECT_EQ(report.files, 2);
  EXPECT_EQ(found(report, BlobFault::missing), 2);
  EXPECT_EQ(report.wrong(), 2);
  for (const BlobFinding& finding : report.findings) {
    EXPECT_EQ(finding.remedy, BlobRemedy::none);
    EXPECT_EQ(finding.reason, "it takes nothing");
  }
  EXPECT_EQ(row_of(one).keys(), one.keys());
  EXPECT_FALSE(row_of(one).damage);
  read_only.putting = {};
  EXPECT_EQ(run(check_there, Mend::yes).wrong(), 0);
}

TEST_F(BlobSecondCopyTest, NoCopyIsMadeOnADiskWithoutFreeSpaceAboveItsReserve) {
  const Upload one = stage_in_two_places("a.bin");
  places.drop(one.twin_key);
  bool room = false;
  BlobCheckRules rules;
  rules.has_room = [&room](Place place, std::int64_t bytes) { return room || place != Place::dir || bytes < 20'000; };
  BlobCheck sparing = make(places, rules);
  const BlobCheckReport report = run(sparing, Mend::yes);
  EXPECT_EQ(report.wrong(), 1);
  EXPECT_THAT(report.findings.at(0).reason, ::testing::HasSubstr("reserve"));
  EXPECT_EQ(desk.blob_files(), 0u);
  room = true;
  EXPECT_EQ(run(sparing, Mend::yes).wrong(), 0);
  EXPECT_EQ(desk.blob_files(), 1u);
}

TEST_F(BlobSecondCopyTest, OrphansAreFoundInEveryPlace) {
  (void)orphan(*desk.blobs);
  (void)orphan(*second);
  stage_in_two_places("a.bin");
  EXPECT_EQ(found(run(both), BlobFault::orphan), 2);
  EXPECT_EQ(run(both, Mend::yes).mended, 2);
  EXPECT_EQ(run(both).blobs, 2);
}

}  // namespace
}  // namespace restante::desk
