// BlobMovesTest: a desk with two places: a directory, and a second directory that stands for a bucket and can be made
// to fail. For tests of desk/ only.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "desk/blob_moves/blob_moves.h"
#include "desk/test_desk.h"
#include "store/test_blobs.h"

namespace restante::desk {

class BlobMovesTest : public ::testing::Test {
 protected:
  BlobMovesTest() {
    far.opening = [this] { require(far_down); }, far.dropping = [this] { require(far_down); };
  }
  static void require(bool down) {
    if (down) throw Unavailable("the bucket is unreachable");
  }
  static SweepRules quick() {
    SweepRules rules;
    rules.longest_request = std::chrono::minutes(1);
    return rules;
  }
  Upload stage(const std::string& bytes) {
    auto staging = uploads.stage(workspace, UploadDirection::in, kOperator);
    EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
    EXPECT_TRUE((*staging)->write(bytes).has_value());
    EXPECT_TRUE((*staging)->end_file().has_value());
    return (*staging)->commit().take()->at(0).upload;
  }
  std::string some_bytes() { return std::string(20'000, 'x') + std::to_string(++made); }
  std::vector<Upload> stage_some(int count) {
    std::vector<Upload> all;
    for (int i = 0; i < count; ++i) all.push_back(stage(some_bytes()));
    return all;
  }
  Upload row(const Upload& upload) { return desk.store->find_upload(workspace, upload.id).value(); }
  std::set<std::string> places_of(const Upload& upload) {
    std::set<std::string> all;
    const Upload now = row(upload);
    for (const std::string& key : {now.blob_key, now.twin_key}) {
      if (!key.empty()) all.insert(std::string(name_of(parse_key(key)->place)));
    }
    return all;
  }
  void expect_readable(const Upload& upload) {
    const auto open = uploads.open(kOperator, workspace, upload.id);
    ASSERT_TRUE(open.has_value()) << open.error().code();
    std::string bytes(static_cast<std::size_t>(upload.size) + 1, '\0');
    bytes.resize(open->blob->read(0, bytes));
    EXPECT_EQ(sha256(bytes), upload.sha256);
  }
  // A tick ends only when nothing is left to do, however slow the disk is.
  static BlobMoveRules unhurried() {
    BlobMoveRules rules;
    rules.slice = std::chrono::hours(1);
    return rules;
  }
  void tick(BlobMoves& which, int times = 1) {
    for (int i = 0; i < times; ++i) {
      which.tick();
      desk.clock.advance(std::chrono::seconds(10));
    }
  }
  // All files on the disk, of any kind.
  static std::size_t files_below(const std::filesystem::path& folder) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) files += entry.is_regular_file();
    return files;
  }
  std::size_t near_files() const { return files_below(desk.folder.path() / "blobs"); }
  std::size_t far_files() const { return files_below(desk.folder.path() / "bucket"); }
  std::filesystem::path file_of(const std::string& key) const {
    const auto placed = parse_key(key);
    const std::string bare(placed->bare);
    return desk.folder.path() / (placed->place == Place::dir ? "blobs" : "bucket") / bare.substr(30) / bare;
  }
  static void spoil(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out);
    file.seekp(7);
    file.put('!');
  }

  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  int made = 0;
  bool far_down = false;
  std::unique_ptr<Blobs> bucket = dir::open(desk.folder.path() / "bucket");
  HookedBlobs far{*bucket};
  Places places{{{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics};
  Uploads uploads{*desk.store, places, desk.event_bus, desk.clock, desk.log, desk.metrics, {}};
  BlobMoves moves{*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried()};
  Sweep sweep{*desk.store, places, uploads.events(), desk.clock, desk.log, desk.metrics, quick()};
};

}  // namespace restante::desk
