// Files in two places, or on their way from one to the other, while a request or a check reads them.
#include <utility>

#include "desk/blob_moves/test_blob_moves.h"

namespace restante::desk {
namespace {

class IntegrityPlacesTest : public BlobMovesTest {
 protected:
  // Moves it at once, as another server's blob move does, and deletes the old copy.
  void move_to_files(const Upload& upload) {
    const auto writer = places.put(Place::dir);
    const auto blob = bucket->open(parse_key(upload.blob_key)->bare);
    std::string bytes(static_cast<std::size_t>(upload.size), '\0');
    ASSERT_EQ(blob->read(0, bytes), bytes.size());
    writer->write(bytes);
    const BlobKeys is{writer->finish().key, {}};
    ASSERT_EQ(desk.store->change_blob_keys({{upload.keys(), is}}, desk.clock.now()).take().value(), 1);
    bucket->drop(parse_key(upload.blob_key)->bare);
  }
  Upload stage_in(PlacePlan plan) {
    places.set_plan(plan);
    return stage(some_bytes());
  }
  // `happens` runs just before the next blob is opened in the bucket.
  void once_opened(std::function<void()> happens) {
    far.opening = [happens = std::move(happens), done = false]() mutable {
      if (!std::exchange(done, true)) happens();
    };
  }
};

TEST_F(IntegrityPlacesTest, ABlobThatIsMovedWhileItIsOpenedIsOpenedInItsNewPlace) {
  const Upload one = stage_in({Place::s3, {}});
  once_opened([&] { move_to_files(one); });
  expect_readable(one);
  EXPECT_EQ(places_of(one), std::set<std::string>{"dir"});
  EXPECT_FALSE(row(one).damage);
}

TEST_F(IntegrityPlacesTest, ABlobThatIsMovedWhileItIsSuspectedIsCheckedInItsNewPlace) {
  const Upload one = stage_in({Place::s3, {}});
  once_opened([&] { move_to_files(one); });
  uploads.integrity().suspect(one);
  uploads.integrity().tick();
  EXPECT_FALSE(row(one).damage) << "a moved blob is no damage";
  EXPECT_GE(desk.metrics.uploads_checked("sound").Value(), 1);
  EXPECT_EQ(desk.metrics.uploads_checked("damaged").Value(), 0);
}

TEST_F(IntegrityPlacesTest, AFileMissingInBothPlacesIsBackWithEitherCopyAndNotWithOtherContent) {
  const Upload one = stage_in({Place::s3, Place::dir});
  const auto first = file_of(one.blob_key), second = file_of(one.twin_key);
  const auto away = desk.folder.path() / "away";
  std::filesystem::rename(second, away);
  std::filesystem::remove(first);
  ASSERT_FALSE(uploads.open(kOperator, workspace, one.id));
  desk.make_workspace();  // a write after the mark: the writer keeps the order
  EXPECT_EQ(row(one).damage, UploadDamage::missing);
  std::ofstream(first) << std::string(static_cast<std::size_t>(one.size), '?');
  EXPECT_FALSE(uploads.open(kOperator, workspace, one.id)) << "other content of the same size";
  std::filesystem::remove(first);
  std::filesystem::rename(away, second);
  expect_readable(one);
  std::filesystem::copy_file(second, first);
  std::filesystem::remove(second);
  expect_readable(one);
}

TEST_F(IntegrityPlacesTest, AStopWhileItReadsTheSecondCopyDecidesNothing) {
  const Upload one = stage_in({Place::dir, Place::s3});
  spoil(file_of(one.blob_key));
  once_opened([&] { uploads.integrity().stop(); });
  uploads.integrity().suspect(one);
  uploads.integrity().tick();
  EXPECT_FALSE(row(one).damage);
  EXPECT_EQ(row(one).keys(), one.keys());
}

TEST_F(IntegrityPlacesTest, ASecondCopyThatCannotBeOpenedIsTriedAgainLater) {
  const Upload one = stage_in({Place::dir, Place::s3});
  spoil(file_of(one.blob_key));
  far_down = true;
  EXPECT_THROW(uploads.integrity().tick(), Unavailable);
  EXPECT_FALSE(row(one).damage);
  EXPECT_EQ(row(one).keys(), one.keys());
  far_down = false;
  desk.clock.advance(std::chrono::minutes(1));
  uploads.integrity().tick();
  EXPECT_FALSE(row(one).damage);
  EXPECT_EQ(row(one).keys(), (BlobKeys{one.twin_key, {}}));
}

TEST_F(IntegrityPlacesTest, ContentThatIsNotInAFileOfThisMachineIsFar) {
  const auto is_far = [](const std::string& key, const std::string& twin) {
    Upload upload;
    upload.blob_key = key;
    upload.twin_key = twin;
    return Uploads::is_far(upload);
  };
  const std::string file(32, 'a');
  EXPECT_FALSE(is_far("", "")) << "in its row";
  EXPECT_FALSE(is_far(file, ""));
  EXPECT_FALSE(is_far(file, file));
  EXPECT_TRUE(is_far("s3:" + file, ""));
  EXPECT_TRUE(is_far(file, "s3:" + file)) << "it may have to be read from there";
  EXPECT_TRUE(is_far("inline:" + file, file));
  EXPECT_TRUE(is_far("ftp:" + file, "")) << "a place that is not known yet";
}

}  // namespace
}  // namespace restante::desk
