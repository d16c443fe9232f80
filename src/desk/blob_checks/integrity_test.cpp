#include "desk/blob_checks/integrity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "desk/uploads/test_uploads.h"
#include "store/sqlite/database/database.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class IntegrityTest : public TestUploads {
 protected:
  std::filesystem::path file_of(const Upload& upload) const {
    return desk.folder.path() / "blobs" / upload.blob_key.substr(30) / upload.blob_key;
  }
  // Like a disk error: one bit in the middle, size and time unchanged.
  void flip(const Upload& upload) {
    const int fd = ::open(file_of(upload).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    char byte = 0;
    ASSERT_EQ(::pread(fd, &byte, 1, upload.size / 2), 1);
    byte = static_cast<char>(byte ^ 4);
    ASSERT_EQ(::pwrite(fd, &byte, 1, upload.size / 2), 1);
    ::close(fd);
  }
  void resize(const Upload& upload, std::int64_t size) {
    std::filesystem::resize_file(file_of(upload), static_cast<std::uintmax_t>(size));
  }
  void edit(const std::string& sql) {
    sqlite::Health health;
    sqlite::Database((desk.folder.path() / "test.db").string(), sqlite::Database::Mode::read_write, health)
        .execute(sql);
  }
  Upload row_of(const Upload& upload) { return desk.store->find_upload(workspace, upload.id).value(); }
  std::vector<std::string> receipts() {
    std::vector<std::string> methods;
    for (const InboxRow& row : desk.inbox_of(workspace)) {
      if (row.activity_type == "upload_receipt") methods.push_back(row.method);
    }
    return methods;
  }
  void expect_refused(const Principal& who, const Upload& upload, UploadDamage damage) {
    const auto open = desk.uploads.open(who, workspace, upload.id);
    ASSERT_FALSE(open.has_value());
    const bool missing = damage == UploadDamage::missing;
    EXPECT_TRUE(open.error().is(missing ? errors::content_missing : errors::integrity_error)) << open.error().code();
    EXPECT_EQ(std::get<std::string>(open.error().facts().at(0).value), name_of(damage));
    EXPECT_EQ(open.error().sentence(), sentence_of(damage));
  }
  double checked(std::string_view outcome) { return desk.metrics.uploads_checked(outcome).Value(); }
  double read_bytes() { return desk.metrics.uploads_checked_bytes.Value(); }
  Integrity make(IntegrityRules rules) {
    return {*desk.store, desk.places, desk.uploads.events(), desk.clock, desk.log, desk.metrics, rules};
  }

  Integrity& integrity = desk.uploads.integrity();
};

TEST_F(IntegrityTest, AnUnchangedFileStaysReadable) {
  const Upload small = upload("small", "hello");
  const Upload large = upload("large", big);
  integrity.tick();
  EXPECT_EQ(checked("sound"), 2);
  EXPECT_EQ(read_bytes(), 5 + 20'000);
  for (const Upload& one : {small, large}) {
    EXPECT_FALSE(row_of(one).damage);
    EXPECT_TRUE(desk.uploads.open(agent, workspace, one.id));
  }
  EXPECT_TRUE(receipts().empty());
}

TEST_F(IntegrityTest, AFileThatItsAgentCouldNotTakeIsCheckedWhateverTheReason) {
  UploadRules no_walk;
  no_walk.integrity.every = hours(0);
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, no_walk);
  for (const char* reason : {"", "sha256 differs", "no room"}) {
    const Upload damaged = upload("a.bin", big);
    flip(damaged);
    uploads.integrity().tick();
    EXPECT_FALSE(row_of(damaged).damage) << "no failure was reported";
    EXPECT_TRUE(uploads.fail(workspace, damaged.id, reason).take());
    uploads.integrity().tick();
    EXPECT_EQ(row_of(damaged).damage, UploadDamage::changed);
    EXPECT_EQ(row_of(damaged).reason, sentence_of(UploadDamage::changed));
    for (const Principal& who : {agent, sender, admin}) expect_refused(who, damaged, UploadDamage::changed);
  }
  EXPECT_EQ(desk.metrics.uploads_damaged("changed").Value(), 3);
  EXPECT_EQ(receipts(), std::vector<std::string>(6, "chat_upload_failed"));
}

TEST_F(IntegrityTest, AnAgentThatCouldNotTakeASoundFileMayTryAgain) {
  Integrity suspicious = make({hours(0), 1 << 20, seconds(1)});
  const Upload sound = upload("a.bin", big);
  suspicious.suspect(sound);
  suspicious.suspect(sound);
  suspicious.tick();
  EXPECT_EQ(checked("sound"), 1) << "reported several times, it is read once";
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, sound.id)), big);
}

TEST_F(IntegrityTest, TheWalkFindsEveryKindOfDamageByItself) {
  const Upload flipped = upload("flipped", big);
  const Upload cut = upload("cut", big);
  const Upload grown = upload("grown", big);
  const Upload lost = upload("lost", big);
  const Upload sound = upload("sound", big);
  flip(flipped);
  resize(cut, 19'999);
  resize(grown, 20'001);
  desk.blobs->drop(lost.blob_key);
  integrity.tick();
  for (const Upload& one : {flipped, cut, grown}) EXPECT_EQ(row_of(one).damage, UploadDamage::changed) << one.name;
  EXPECT_EQ(row_of(lost).damage, UploadDamage::missing);
  EXPECT_FALSE(row_of(sound).damage);
  EXPECT_EQ(checked("damaged"), 4);
  EXPECT_EQ(checked("sound"), 1);
  EXPECT_EQ(desk.metrics.uploads_damaged("changed").Value(), 3);
  EXPECT_EQ(desk.metrics.uploads_damaged("missing").Value(), 1);
  EXPECT_EQ(receipts(), std::vector<std::string>(4, "chat_upload_failed"));
  expect_refused(agent, lost, UploadDamage::missing);
  desk.sweep.tick();
  EXPECT_EQ(desk.metrics.damaged_uploads.Value(), 4);
}

TEST_F(IntegrityTest, AFileWhosePlaceSomethingElseHasTakenIsMissing) {
  const Upload fifo = upload("fifo", big);
  const Upload folder = upload("folder", big);
  for (const Upload& one : {fifo, folder}) std::filesystem::remove(file_of(one));
  ASSERT_EQ(::mkfifo(file_of(fifo).c_str(), 0600), 0);
  std::filesystem::create_directory(file_of(folder));
  expect_refused(agent, fifo, UploadDamage::missing);
  integrity.tick();
  for (const Upload& one : {fifo, folder}) EXPECT_EQ(row_of(one).damage, UploadDamage::missing) << one.name;
}

TEST_F(IntegrityTest, ContentInTheRowIsCheckedToo) {
  const Upload changed = upload("changed", "hello");
  const Upload lost = upload("lost", "world");
  const Upload sound = upload("sound", "again");
  edit(
      "UPDATE upload_contents SET content = CAST('hellp' AS BLOB) WHERE content = CAST('hello' AS BLOB);"
      "DELETE FROM upload_contents WHERE content = CAST('world' AS BLOB)");
  integrity.tick();
  EXPECT_EQ(row_of(changed).damage, UploadDamage::changed);
  EXPECT_EQ(row_of(lost).damage, UploadDamage::missing);
  EXPECT_FALSE(row_of(sound).damage);
  expect_refused(agent, changed, UploadDamage::changed);
  expect_refused(agent, lost, UploadDamage::missing);
}

TEST_F(IntegrityTest, AFileFoundMissingOrOfAnotherSizeIsRefusedAtOnce) {
  const Upload lost = upload("lost", big);
  const Upload cut = upload("cut", big);
  desk.blobs->drop(lost.blob_key);
  resize(cut, 10'000);
  expect_refused(agent, lost, UploadDamage::missing);
  expect_refused(sender, cut, UploadDamage::changed);
  // A later write has ended: the writer keeps the order.
  (void)desk.uploads.ack(other, lost.id).take();
  EXPECT_EQ(row_of(lost).damage, UploadDamage::missing);
  EXPECT_EQ(row_of(cut).damage, UploadDamage::changed);
  EXPECT_EQ(receipts(), (std::vector<std::string>{"chat_upload_failed", "chat_upload_failed"}));
  expect_refused(agent, lost, UploadDamage::missing);
  (void)desk.uploads.ack(other, lost.id).take();
  EXPECT_EQ(receipts().size(), 2u) << "once is enough";
}

// For example a volume that was not mounted. The mark stays, but the file can be read.
TEST_F(IntegrityTest, AMissingFileThatIsBackIsCheckedAndCanBeRead) {
  const Upload lost = upload("lost", big);
  const auto aside = desk.folder.path() / "aside";
  std::filesystem::rename(file_of(lost), aside);
  integrity.tick();
  expect_refused(agent, lost, UploadDamage::missing);
  std::filesystem::rename(aside, file_of(lost));
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, lost.id)), big);
  EXPECT_EQ(row_of(lost).damage, UploadDamage::missing);
  flip(lost);
  expect_refused(agent, lost, UploadDamage::missing);
  std::filesystem::remove(file_of(lost));
  std::filesystem::create_directory(file_of(lost));
  expect_refused(agent, lost, UploadDamage::missing);
}

TEST_F(IntegrityTest, ContentInTheRowWithAWrongSizeIsRefusedAtOnce) {
  const Upload lost = upload("lost", "world");
  edit("DELETE FROM upload_contents");
  expect_refused(agent, lost, UploadDamage::missing);
  (void)desk.uploads.ack(other, lost.id).take();
  EXPECT_EQ(row_of(lost).damage, UploadDamage::missing);
  const Upload cut = upload("cut", "world");
  edit("UPDATE upload_contents SET content = x'77'");
  expect_refused(agent, cut, UploadDamage::changed);
}

TEST_F(IntegrityTest, AClientThatMayNotSeeAFileDoesNotLearnOfItsDamage) {
  const Upload taken = upload("taken", big);
  EXPECT_TRUE(desk.uploads.ack(workspace, taken.id).take());
  flip(taken);
  integrity.tick();
  EXPECT_EQ(row_of(taken).damage, UploadDamage::changed);
  EXPECT_EQ(receipts(), std::vector<std::string>{"chat_upload_acked"}) << "it was delivered undamaged";
  expect_gone(desk.uploads.open(agent, workspace, taken.id));
  expect_gone(desk.uploads.open(admin, other, taken.id));
  expect_refused(sender, taken, UploadDamage::changed);
}

TEST_F(IntegrityTest, TheRowStaysUntilItsTimeAndIsAckedRecalledAndSweptAsAnyOther) {
  const Upload recalled = upload("recalled", big);
  const Upload acked = upload("acked", big);
  const Upload left = upload("left", big);
  for (const Upload& one : {recalled, acked, left}) flip(one);
  integrity.tick();
  EXPECT_EQ(desk.uploads.waiting(agent, workspace, {}, 10).size(), 3u);
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, recalled.id).take());
  EXPECT_TRUE(desk.uploads.ack(workspace, acked.id).take());
  desk.clock.advance(hours(23));
  (void)desk.sweep.run_once();
  desk.clock.advance(hours(1));
  (void)desk.sweep.run_once();
  EXPECT_EQ(desk.blob_files(), 0u);
  EXPECT_EQ(desk.metrics.damaged_uploads.Value(), 0);
  EXPECT_EQ(desk.uploads.find(kOperator, workspace, left.id)->upload.damage, UploadDamage::changed);
}

TEST_F(IntegrityTest, AWalkReadsNoMoreThanItsRateAndContinuesInTheMiddleOfAFile) {
  Integrity slow = make({hours(24), 30'000, seconds(1)});
  const Upload damaged = upload("a.bin", std::string(100'000, 'x'));
  flip(damaged);
  double before = 0;
  int ticks = 0;
  for (; !row_of(damaged).damage; ++ticks) {
    ASSERT_LT(ticks, 100);
    slow.tick();
    EXPECT_LE(read_bytes() - before, 30'000) << "tick " << ticks;
    before = read_bytes();
  }
  EXPECT_EQ(read_bytes(), 200'000) << "twice, since the first read may come from the page cache";
  EXPECT_GE(ticks, 7);
}

TEST_F(IntegrityTest, ManySmallFilesAreNotReadInOneGo) {
  for (int i = 0; i < 10; ++i) upload();
  Integrity slow = make({hours(24), 64 << 10, seconds(1)});
  slow.tick();
  EXPECT_EQ(checked("sound"), 1);
  for (int i = 0; i < 9; ++i) slow.tick();
  EXPECT_EQ(checked("sound"), 10);
}

TEST_F(IntegrityTest, AWalkBeginsAgainAfterItsPeriod) {
  const Upload one = upload("a.bin", big);
  integrity.tick();
  EXPECT_EQ(checked("sound"), 1);
  flip(one);
  desk.clock.advance(hours(24) - seconds(1));
  integrity.tick();
  EXPECT_FALSE(row_of(one).damage);
  desk.clock.advance(seconds(1));
  integrity.tick();
  EXPECT_TRUE(row_of(one).damage);
  const double before = read_bytes();
  desk.clock.advance(hours(24));
  integrity.tick();
  integrity.suspect(row_of(one));
  integrity.tick();
  EXPECT_EQ(read_bytes(), before) << "a marked file is not read again";
}

TEST_F(IntegrityTest, AFileThatIsDeletedWhileItIsReadIsNotReported) {
  Integrity slow = make({hours(24), 50'000, seconds(1)});
  const Upload damaged = upload("a.bin", std::string(100'000, 'x'));
  flip(damaged);
  slow.suspect(damaged);
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, damaged.id).take());
  slow.tick();
  EXPECT_EQ(checked("damaged") + checked("sound"), 0) << "deleted before it was opened";

  const Upload read = upload("b.bin", std::string(100'000, 'x'));
  flip(read);
  Integrity another = make({hours(24), 100'000, seconds(1)});
  another.tick();
  EXPECT_GT(read_bytes(), 0);
  EXPECT_LT(read_bytes(), 100'000);
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, read.id).take());
  (void)desk.sweep.run_once();
  for (int i = 0; i < 8; ++i) another.tick();
  EXPECT_EQ(desk.metrics.uploads_damaged("changed").Value(), 0);
  EXPECT_EQ(receipts(), (std::vector<std::string>{"chat_upload_recalled", "chat_upload_recalled"}));
}

TEST_F(IntegrityTest, AFileThatIsDeletedJustBeforeItIsMarkedIsNotReported) {
  const Upload deleted = upload("a.bin", big);
  ASSERT_TRUE(desk.uploads.recall(admin, workspace, deleted.id).take());
  EXPECT_FALSE(integrity.report_damage(deleted, UploadDamage::changed).take());
  EXPECT_EQ(desk.metrics.uploads_damaged("changed").Value(), 0);
  EXPECT_EQ(receipts(), std::vector<std::string>{"chat_upload_recalled"});
}

TEST_F(IntegrityTest, AFileThatCannotBeReadIsReportedAndNotMarked) {
  HookedBlobs blobs(*desk.blobs);
  Places places = desk.over(blobs);
  Integrity checking(*desk.store, places, desk.uploads.events(), desk.clock, desk.log, desk.metrics,
                     {hours(24), 1 << 20, seconds(1)});
  const Upload unreadable = upload("a.bin", big);
  const Upload sound = upload("b.bin", big);
  blobs.reading = [&](const std::string& key) {
    if (key == unreadable.blob_key) throw Unavailable("the disk has failed");
  };
  checking.tick();
  EXPECT_EQ(checked("unreadable"), 1);
  EXPECT_EQ(checked("sound"), 1) << "and the walk continues";
  EXPECT_FALSE(row_of(unreadable).damage);
  EXPECT_FALSE(row_of(sound).damage);
}

TEST_F(IntegrityTest, AnUnreachablePlaceMarksNothingAndIsTriedAgainLater) {
  const Upload sound = upload("a.bin", big);
  const auto place = desk.folder.path() / "blobs";
  const auto renamed_place = desk.folder.path() / "renamed_away";
  std::filesystem::rename(place, renamed_place);
  std::filesystem::create_directory(place);
  std::filesystem::remove(renamed_place / sound.blob_key.substr(30) / sound.blob_key);
  EXPECT_THROW(integrity.tick(), Unavailable);
  EXPECT_NO_THROW(integrity.tick()) << "it pauses";
  EXPECT_FALSE(row_of(sound).damage);
  std::filesystem::remove(place);
  std::filesystem::rename(renamed_place, place);
  desk.clock.advance(minutes(1));
  upload("b.bin", big);
  integrity.tick();
  EXPECT_EQ(checked("sound"), 1) << "and continues after it";
  EXPECT_FALSE(row_of(sound).damage) << "until the next walk";
  desk.clock.advance(hours(24));
  integrity.tick();
  EXPECT_EQ(row_of(sound).damage, UploadDamage::missing);
}

TEST_F(IntegrityTest, ASuspectWhosePlaceCannotBeReachedIsCheckedLater) {
  Integrity suspicious = make({hours(0), 1 << 20, seconds(1)});
  const Upload missing = upload("a.bin", big);
  const Upload sound = upload("b.bin", "in its row");
  const auto place = desk.folder.path() / "blobs";
  const auto renamed_place = desk.folder.path() / "renamed_away";
  std::filesystem::rename(place, renamed_place);
  std::filesystem::create_directory(place);
  std::filesystem::remove(renamed_place / missing.blob_key.substr(30) / missing.blob_key);
  suspicious.suspect(missing);
  suspicious.suspect(sound);
  EXPECT_THROW(suspicious.tick(), Unavailable);
  EXPECT_NO_THROW(suspicious.tick()) << "it pauses";
  desk.clock.advance(minutes(1));
  EXPECT_THROW(suspicious.tick(), Unavailable);
  EXPECT_EQ(checked("sound"), 1) << "the other one was checked first";
  std::filesystem::remove(place);
  std::filesystem::rename(renamed_place, place);
  desk.clock.advance(minutes(1));
  suspicious.tick();
  EXPECT_EQ(row_of(missing).damage, UploadDamage::missing);
}

TEST_F(IntegrityTest, BeyondTheLimitASuspectedFileWaitsForTheWalk) {
  Integrity suspicious = make({hours(0), 1 << 20, seconds(1)});
  const Upload first = upload("first", big);
  const Upload last = upload("last", big);
  suspicious.suspect(first);
  Upload missing_file;
  for (int i = 0; i < 1023; ++i) {
    missing_file.id = FileId::make(kStart);
    suspicious.suspect(missing_file);
  }
  suspicious.suspect(last);
  suspicious.tick();
  suspicious.tick();
  EXPECT_EQ(checked("sound"), 1);
  EXPECT_EQ(read_bytes(), 20'000);
}

TEST_F(IntegrityTest, AfterAStopItReadsNothingMore) {
  const Upload one = upload("a.bin", big);
  integrity.suspect(one);
  integrity.stop();
  integrity.tick();
  EXPECT_EQ(read_bytes(), 0);
}

TEST_F(IntegrityTest, AStopInTheMiddleOfAFileDecidesNothing) {
  HookedBlobs blobs(*desk.blobs);
  Places places = desk.over(blobs);
  Integrity ending(*desk.store, places, desk.uploads.events(), desk.clock, desk.log, desk.metrics,
                   {hours(0), 1 << 20, seconds(1)});
  const Upload damaged = upload("a.bin", big);
  flip(damaged);
  ending.suspect(damaged);
  blobs.opening = [&] { ending.stop(); };
  ending.tick();
  EXPECT_EQ(read_bytes(), 0);
  EXPECT_FALSE(row_of(damaged).damage);
}

TEST_F(IntegrityTest, ManyThreadsMayReportWhileItChecks) {
  std::vector<Upload> files;
  for (int i = 0; i < 20; ++i) files.push_back(upload("f", big));
  for (const Upload& one : files) flip(one);
  std::vector<std::thread> agents;
  for (int t = 0; t < 4; ++t) {
    agents.emplace_back([&, t] {
      for (std::size_t i = 0; i < files.size(); ++i) {
        (void)desk.uploads.fail(workspace, files[(i + static_cast<std::size_t>(t)) % files.size()].id, "x").take();
      }
    });
  }
  for (int i = 0; i < 50; ++i) integrity.tick();
  for (auto& agent_thread : agents) agent_thread.join();
  integrity.tick();
  for (const Upload& one : files) EXPECT_TRUE(row_of(one).damage);
  EXPECT_EQ(desk.metrics.uploads_damaged("changed").Value(), 20) << "each once";
}

}  // namespace
}  // namespace restante::desk
