#include "desk/uploads.h"

#include <gtest/gtest.h>

#include <fstream>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using Role = Principal::Role;

class UploadsTest : public ::testing::Test {
 protected:
  static UploadRules small_rules() {
    UploadRules rules;
    rules.per_file_bytes = 1000;
    rules.max_files = 3;
    return rules;
  }
  std::unique_ptr<Staging> stage() {
    auto staging = desk.uploads.stage(workspace);
    EXPECT_TRUE(staging.has_value());
    return std::move(*staging);
  }
  static void add(Staging& staging, std::string_view name, std::string_view bytes) {
    EXPECT_TRUE(staging.begin_file(name, "text/plain").has_value());
    if (!bytes.empty()) {
      EXPECT_TRUE(staging.write(bytes).has_value());
    }
    EXPECT_TRUE(staging.end_file().has_value());
  }
  Upload upload(std::string_view name = "a.txt", std::string_view bytes = "hello") {
    const auto staging = stage();
    add(*staging, name, bytes);
    auto staged = staging->commit().take();
    EXPECT_TRUE(staged.has_value());
    return staged->at(0).upload;
  }
  std::string content(const OpenUpload& open) {
    std::string bytes(static_cast<std::size_t>(open.upload.size) + 10, '\0');
    const ssize_t n = ::pread(open.blob->fd(), bytes.data(), bytes.size(), 0);
    bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return bytes;
  }
  void expect_gone(const Result<OpenUpload>& open) {
    ASSERT_FALSE(open.has_value());
    EXPECT_TRUE(open.error().is(errors::upload_gone)) << open.error().code();
  }
  void expect_nothing() {
    EXPECT_EQ(desk.log_of(workspace).size(), 0u);
    EXPECT_EQ(desk.uploads.waiting(workspace, {}, 100).size(), 0u);
    EXPECT_EQ(desk.blob_files(), 0u);
  }

  TestDesk desk{small_rules()};
  const WorkspaceId workspace = desk.make_workspace();
  const WorkspaceId other = desk.make_workspace();
  const Principal agent{Role::workspace, workspace, {}, false};
  const Principal sender{Role::sender, workspace, {}, false};
  const Principal admin{Role::admin, {}, {}, false};
};

TEST_F(UploadsTest, AreStagedInOrderWithTheirRowsAndRingOnce) {
  const auto staging = stage();
  add(*staging, "../one.txt", "first");
  add(*staging, "two words.txt", std::string(1000, 'x'));
  const auto staged = staging->commit().take();
  ASSERT_TRUE(staged.has_value());
  ASSERT_EQ(staged->size(), 2u);
  EXPECT_EQ(staged->at(0).upload.name, "one.txt");
  EXPECT_EQ(staged->at(1).upload.name, "two_words.txt");
  EXPECT_EQ(staged->at(0).upload.size, 5);
  EXPECT_EQ(staged->at(0).upload.sha256, sha256("first"));
  EXPECT_EQ(staged->at(0).upload.expires_at, kStart + std::chrono::hours(24));
  EXPECT_EQ(desk.log_of(workspace).size(), 2u);
  EXPECT_EQ(desk.blob_files(), 2u);
  EXPECT_EQ(desk.bell.rung(), std::vector<std::string>{topic_of(workspace)});
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, staged->at(0).upload.id)), "first");
}

TEST_F(UploadsTest, AThirdFileThatIsTooLargeLeavesNothingOfTheOthers) {
  {
    const auto staging = stage();
    add(*staging, "one", "1");
    add(*staging, "two", "2");
    EXPECT_TRUE(staging->begin_file("three", "").has_value());
    EXPECT_TRUE(staging->write(std::string(1000, 'x')).has_value()) << "exactly the cap passes";
    const auto refused = staging->write("x");
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is(errors::file_too_large));
    ASSERT_EQ(refused.error().facts().size(), 2u);
    EXPECT_EQ(std::get<std::string>(refused.error().facts()[0].value), "three");
    EXPECT_EQ(std::get<std::int64_t>(refused.error().facts()[1].value), 1000);
  }
  expect_nothing();
}

TEST_F(UploadsTest, ARequestThatIsCutLeavesNothing) {
  {
    const auto staging = stage();
    add(*staging, "one", "1");
    EXPECT_TRUE(staging->begin_file("two", "").has_value());
    EXPECT_TRUE(staging->write("half of").has_value());
  }
  expect_nothing();
}

TEST_F(UploadsTest, ANamedEmptyFileIsAnErrorThatNamesItAndLeavesNothing) {
  {
    const auto staging = stage();
    add(*staging, "one", "1");
    EXPECT_TRUE(staging->begin_file("empty file.txt", "").has_value());
    const auto refused = staging->end_file();
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is(errors::empty_file));
    EXPECT_EQ(std::get<std::string>(refused.error().facts().at(0).value), "empty_file.txt");
  }
  expect_nothing();
}

TEST_F(UploadsTest, ANamelessEmptyOneIsSkippedAndOneWithBytesKept) {
  const auto staging = stage();
  add(*staging, "", "");
  add(*staging, "", "bytes");
  add(*staging, "", "");
  const auto staged = staging->commit().take();
  ASSERT_TRUE(staged.has_value());
  ASSERT_EQ(staged->size(), 1u);
  EXPECT_EQ(staged->at(0).upload.name, "file");
}

TEST_F(UploadsTest, NoFileAtAllIsAnError) {
  const auto staging = stage();
  add(*staging, "", "");
  const auto refused = staging->commit().take();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(errors::no_files));
  EXPECT_TRUE(desk.bell.rung(0).empty());
}

TEST_F(UploadsTest, OneFileMoreThanTheLimitIsRefusedWithTheLimit) {
  {
    const auto staging = stage();
    for (int i = 0; i < 3; ++i) add(*staging, "f", "x");
    const auto refused = staging->begin_file("f", "");
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is(errors::too_many_files));
    EXPECT_EQ(refused.error().sentence(), "too many files (limit 3)");
  }
  expect_nothing();
}

TEST_F(UploadsTest, AreOnlyStagedForAPollWorkspaceThatIsThere) {
  EXPECT_TRUE(desk.uploads.stage(WorkspaceId::make(kStart)).error().is(errors::workspace_not_found));
  EXPECT_TRUE(desk.uploads.stage(desk.make_workspace(DeliveryMode::push)).error().is(errors::no_callback));
}

// The destructor of a cut request runs in the middle of the server: what it cannot remove is left for the sweep.
TEST_F(UploadsTest, BytesThatCannotBeRemovedDoNotEndTheServer) {
  const auto blobs = desk.folder.path() / "blobs";
  {
    const auto staging = stage();
    add(*staging, "one", "1");
    std::filesystem::path shelf;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(blobs)) {
      if (entry.is_regular_file()) shelf = entry.path().parent_path();
    }
    std::filesystem::rename(shelf, blobs / "moved-away");
    std::ofstream(shelf) << "a file where a directory was";
  }
  EXPECT_EQ(desk.log_of(workspace).size(), 0u);
}

TEST_F(UploadsTest, OpenByWhoAndWhen) {
  const Upload waiting = upload();
  for (const Principal& who : {agent, sender, admin}) {
    const auto open = desk.uploads.open(who, workspace, waiting.id);
    ASSERT_TRUE(open.has_value());
    EXPECT_EQ(content(*open), "hello");
  }
  expect_gone(desk.uploads.open(admin, other, waiting.id));
  expect_gone(desk.uploads.open(admin, workspace, FileId::make(kStart)));

  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take());
  expect_gone(desk.uploads.open(agent, workspace, waiting.id));
  EXPECT_TRUE(desk.uploads.open(sender, workspace, waiting.id)) << "people see what was delivered";
  EXPECT_TRUE(desk.uploads.open(admin, workspace, waiting.id));
  expect_gone(desk.uploads.open({Role::sender, other, {}, false}, workspace, waiting.id));

  const Upload late = upload();
  desk.clock.advance(std::chrono::hours(24) - std::chrono::microseconds(1));
  EXPECT_TRUE(desk.uploads.open(agent, workspace, late.id));
  desk.clock.advance(std::chrono::microseconds(1));
  for (const Principal& who : {agent, sender, admin}) expect_gone(desk.uploads.open(who, workspace, late.id));
}

TEST_F(UploadsTest, ARowWhoseBytesAreLostIsGoneAndNotAnEmptyFile) {
  const Upload lost = upload();
  desk.blobs->drop(lost.blob_key);
  expect_gone(desk.uploads.open(agent, workspace, lost.id));
}

TEST_F(UploadsTest, OpeningIsNoFetchAndAFetchMovesItsTime) {
  const Upload waiting = upload();
  const auto fetched_at = [&] { return desk.uploads.find(workspace, waiting.id)->fetched_at; };
  for (const Principal& who : {agent, sender, admin}) (void)desk.uploads.open(who, workspace, waiting.id);
  EXPECT_FALSE(fetched_at());
  desk.bell.rung();
  desk.uploads.note_fetched(waiting);
  // A verb behind it: the writer keeps the order.
  (void)desk.uploads.ack(other, waiting.id).take();
  EXPECT_EQ(fetched_at(), kStart);
  EXPECT_EQ(desk.bell.rung().front(), topic_of(workspace));
  desk.clock.advance(std::chrono::seconds(5));
  desk.uploads.note_fetched(waiting);
  (void)desk.uploads.ack(other, waiting.id).take();
  EXPECT_EQ(fetched_at(), kStart + std::chrono::seconds(5));
}

TEST_F(UploadsTest, AnAckIsOneReceiptHoweverOftenItComes) {
  const Upload waiting = upload();
  const auto first = desk.uploads.ack(workspace, waiting.id).take();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->acked_at, kStart);
  desk.clock.advance(std::chrono::seconds(9));
  const auto again = desk.uploads.ack(workspace, waiting.id).take();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->acked_at, kStart);
  EXPECT_EQ(desk.log_of(workspace).size(), 2u) << "the upload and one receipt";
  EXPECT_EQ(desk.uploads.waiting(workspace, {}, 10).size(), 0u);
}

TEST_F(UploadsTest, AnAckOfWhatIsNotOursOrTooLateIsGone) {
  const Upload waiting = upload();
  EXPECT_TRUE(desk.uploads.ack(other, waiting.id).take().error().is(errors::upload_gone));
  EXPECT_TRUE(desk.uploads.ack(workspace, FileId::make(kStart)).take().error().is(errors::upload_gone));
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take().error().is(errors::upload_gone));
  EXPECT_FALSE(desk.uploads.find(workspace, waiting.id)->acked_at);
}

TEST_F(UploadsTest, WaitingListsTheUnackedOldestFirstPageByPage) {
  std::vector<FileId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(upload().id);
    desk.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_TRUE(desk.uploads.ack(workspace, ids[1]).take());
  const auto page = desk.uploads.waiting(workspace, {}, 2);
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].id, ids[0]);
  EXPECT_EQ(page[1].id, ids[2]);
  const auto rest = desk.uploads.waiting(workspace, page[1].id, 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].id, ids[3]);
}

}  // namespace
}  // namespace restante::desk
