// Places over real directories; one of them stands for a bucket that may fail.
#include "store/places.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_clock.h"
#include "base/test_folder.h"
#include "store/dir/blob_directory.h"
#include "store/dir/blobs.h"
#include "store/test_blobs.h"

namespace restante {
namespace {

class PlacesTest : public ::testing::Test {
 protected:
  PlacesTest() {
    files = dir::open(folder / "files");
    others = dir::open(folder / "others");
    s3 = std::make_unique<HookedBlobs>(*others);
    s3->putting = s3->writing = s3->opening = s3->dropping = s3->listing = [this] { require(); };
    s3->checking = [this] {
      ++s3_checks;
      require();
    };
    s3->finishing = [this] {
      if (!s3_finishes) throw StorageFull("full");
    };
  }
  std::unique_ptr<Places> both(PlacePlan plan) {
    return std::make_unique<Places>(Places::ByPlace{{Place::dir, *files}, {Place::s3, *s3}}, plan, log, metrics);
  }
  void require() const {
    if (s3_down) throw Unavailable("down");
  }
  static BlobKeys write(Places& places, std::string_view bytes) {
    const auto writer = places.put();
    writer->write(bytes);
    return writer->finish();
  }
  static std::string content(OpenBlob& blob) {
    std::string bytes(100, '\0');
    bytes.resize(blob.read(0, bytes));
    return bytes;
  }
  std::size_t count(const char* place) const {
    std::size_t files_there = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / place)) {
      if (entry.is_regular_file()) ++files_there;
    }
    return files_there;
  }

  TestFolder folder;
  ManualClock clock{Time(std::chrono::seconds(1'800'000'000))};
  const Fd nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC)};  // closed after the log is destroyed
  Log log{nowhere.get(), LogLevel::debug, clock};
  Metrics metrics{BuildInfo{"test", "test", "test"}};
  std::unique_ptr<Blobs> files;
  std::unique_ptr<Blobs> others;
  std::unique_ptr<HookedBlobs> s3;
  int s3_checks = 0;
  bool s3_down = false;
  bool s3_finishes = true;
};

TEST_F(PlacesTest, AKeyCarriesItsPlaceAndABareOneIsAFile) {
  const auto places = both({Place::dir, {}});
  const BlobKeys file = write(*places, "file");
  EXPECT_EQ(file.key.find(':'), std::string::npos);
  EXPECT_EQ(file.twin, "");
  places->set_plan({Place::s3, {}});
  const BlobKeys object = write(*places, "object");
  EXPECT_EQ(object.key.substr(0, 3), "s3:");
  EXPECT_EQ(content(*places->open(file, 4).blob), "file");
  EXPECT_EQ(content(*places->open(object, 6).blob), "object");
  EXPECT_FALSE(places->open(object.key.substr(3))) << "the other place has no such blob";
  EXPECT_FALSE(places->open("ftp:" + file.key)) << "a foreign prefix opens nothing";
}

TEST_F(PlacesTest, ABlobMoveWritesBothPlacesAndAWriterEndsAsItBegan) {
  const auto places = both({Place::dir, {}});
  const auto early = places->put();
  early->write("early");
  places->set_plan({Place::s3, Place::dir});
  const BlobKeys late = write(*places, "late");
  EXPECT_EQ(early->finish().twin, "");
  EXPECT_EQ(parse_key(late.key)->place, Place::s3);
  EXPECT_EQ(parse_key(late.twin)->place, Place::dir);
  EXPECT_EQ(content(*places->open(late.key)), "late");
  EXPECT_EQ(content(*places->open(late.twin)), "late");
  EXPECT_EQ(places->plan(), (PlacePlan{Place::s3, Place::dir}));
}

TEST_F(PlacesTest, WhenOneOfTwoPlacesFailsNothingStaysInTheOther) {
  for (const PlacePlan plan : {PlacePlan{Place::s3, Place::dir}, PlacePlan{Place::dir, Place::s3}}) {
    const auto places = both(plan);
    s3_down = true;
    EXPECT_THROW((void)places->put(), Unavailable);
    s3_down = false;
    {
      const auto writer = places->put();
      writer->write("some");
      s3_down = true;
      EXPECT_THROW(writer->write("more"), Unavailable);
    }
    s3_down = false;
    s3_finishes = false;
    EXPECT_THROW((void)write(*places, "almost"), StorageFull);
    s3_finishes = true;
    EXPECT_EQ(count("files") + count("others"), 0u);
  }
}

TEST_F(PlacesTest, TheSecondCopyIsReadWhenTheFirstIsMissingOrIncomplete) {
  const auto places = both({Place::s3, Place::dir});
  const BlobKeys keys = write(*places, "bytes");
  EXPECT_FALSE(places->open(keys, 5).by_twin);
  const std::string bare(parse_key(keys.key)->bare);
  const auto path = folder / "others" / bare.substr(30) / bare;
  std::filesystem::resize_file(path, 3);
  auto found = places->open(keys, 5);
  EXPECT_TRUE(found.by_twin);
  EXPECT_EQ(content(*found.blob), "bytes");
  others->drop(bare);
  found = places->open(keys, 5);
  EXPECT_TRUE(found.by_twin);
  EXPECT_EQ(content(*found.blob), "bytes");
  EXPECT_EQ(metrics.blob_fallbacks.Value(), 2);
  files->drop(keys.twin);
  EXPECT_FALSE(places->open(keys, 5).blob) << "no place has it";
}

TEST_F(PlacesTest, ABlobThatIsIncompleteInBothPlacesIsReturnedAsItIs) {
  const auto places = both({Place::s3, Place::dir});
  const BlobKeys keys = write(*places, "bytes");
  const auto found = places->open(keys, 6);
  ASSERT_TRUE(found.blob);
  EXPECT_EQ(found.blob->size(), 5u);
  EXPECT_FALSE(found.by_twin);
}

TEST_F(PlacesTest, ABlobOfAnUnreachablePlaceIsNotLost) {
  const auto places = both({Place::s3, Place::dir});
  const BlobKeys keys = write(*places, "bytes");
  s3_down = true;
  const auto found = places->open(keys, 5);
  EXPECT_EQ(content(*found.blob), "bytes");
  EXPECT_FALSE(found.by_twin) << "the first place could not be asked";
  EXPECT_EQ(metrics.blob_fallbacks.Value(), 1);
  files->drop(keys.twin);
  EXPECT_THROW((void)places->open(keys, 5), Unavailable);
  EXPECT_THROW((void)places->open({keys.twin, keys.key}, 5), Unavailable);
  EXPECT_THROW((void)places->open({keys.key, ""}, 5), Unavailable);
}

TEST_F(PlacesTest, ABlobOfAPlaceThatThisServerHasNotIsUnavailableAndNotLost) {
  Places alone({{Place::dir, *files}}, {Place::s3, {}}, log, metrics);
  EXPECT_THROW((void)alone.open("s3:0"), Unavailable);
  EXPECT_THROW((void)alone.put(), Unavailable);
  EXPECT_THROW(alone.check(), Unavailable);
  EXPECT_FALSE(alone.has(Place::s3));
  const std::vector<std::string> keys{"s3:0", "ftp:1", std::string(32, '0')};
  EXPECT_EQ(alone.drop_all(keys), std::vector<std::string>{keys[2]}) << "the others stay listed";
  EXPECT_EQ(alone.drop_all(keys), std::vector<std::string>{keys[2]});
}

TEST_F(PlacesTest, DropsEachKeyInItsPlace) {
  const auto places = both({Place::s3, Place::dir});
  const BlobKeys one = write(*places, "one");
  const BlobKeys two = write(*places, "two");
  places->drop(one.twin);
  EXPECT_EQ(count("files"), 1u);
  EXPECT_EQ(count("others"), 2u);
  places->drop("ftp:foreign");
  const std::vector<std::string> rest{one.key, two.key, two.twin};
  EXPECT_EQ(places->drop_all(rest), rest);
  EXPECT_EQ(count("files") + count("others"), 0u);
  s3_down = true;
  EXPECT_THROW((void)places->drop_all(rest), Unavailable);
}

TEST_F(PlacesTest, AnUnreachablePlaceIsSkippedAndNamedAndFailsOnlyWhenItIsWrittenTo) {
  const auto places = both({Place::s3, Place::dir});
  const BlobKeys one = write(*places, "one");
  places->set_plan({Place::dir, {}});
  s3_down = true;
  Places::UnreachablePlaces unreachable_places;
  const std::vector<std::string> keys{one.key, one.twin};
  EXPECT_EQ(places->drop_all(keys, &unreachable_places), std::vector<std::string>{one.twin})
      << "only the key that was dropped";
  EXPECT_EQ(unreachable_places, (Places::UnreachablePlaces{{Place::s3, "down"}}));
  EXPECT_EQ(count("others"), 1u);
  s3_down = false;
  EXPECT_TRUE(places->drop_all(keys, &unreachable_places).size() == 1) << "the unreachable place was asked once";
  EXPECT_EQ(places->drop_all(keys), keys);
  EXPECT_EQ(count("others"), 0u);

  s3_down = true;
  const Time later = SystemClock().now() + std::chrono::hours(1);
  const auto named = [&](const auto& sweep) {
    Places::UnreachablePlaces out;
    sweep(out);
    return out.contains(Place::s3);
  };
  EXPECT_TRUE(named([&](auto& out) { return places->list("s3:", later, &out); }));
  EXPECT_TRUE(named([&](auto& out) { return places->drop_unfinished(later, &out); }));
  EXPECT_TRUE(named([&](auto& out) { return places->count_unfinished(later, &out); }));
  EXPECT_THROW((void)places->list("s3:", later), Unavailable) << "the caller does not skip unreachable places";
  places->require_written_places(unreachable_places);
  places->set_plan({Place::dir, Place::s3});
  EXPECT_THROW(places->require_written_places(unreachable_places), Unavailable) << "new blobs are written there";
  places->require_written_places(unreachable_places);
  EXPECT_TRUE(unreachable_places.empty()) << "and is asked again";
}

TEST_F(PlacesTest, TroubleIsAnsweredFromARecentCheck) {
  const auto places = both({Place::dir, {}});
  EXPECT_EQ(places->trouble(Place::s3), "");
  s3_down = true;
  const std::string then = places->trouble(Place::s3);
  EXPECT_TRUE(then.empty() ? s3_checks == 1 : s3_checks == 2)
      << "checked again only when the last check was too long ago";
  EXPECT_THROW(places->check(Place::s3), Unavailable) << "check() always asks the place";
  const auto second_server = both({Place::dir, {}});
  EXPECT_EQ(second_server->trouble(Place::s3), "down");
}

TEST_F(PlacesTest, ListsAllPlacesOneAfterTheOther) {
  const auto places = both({Place::s3, Place::dir});
  std::set<std::string> keys;
  for (int i = 0; i < 5; ++i) {
    const BlobKeys written = write(*places, "x");
    keys.insert(written.key);
    keys.insert(written.twin);
  }
  std::set<std::string> listed;
  std::string from;
  int pages = 0;
  do {
    BlobPage page = places->list(from, SystemClock().now() + std::chrono::hours(1));
    listed.insert(page.keys.begin(), page.keys.end());
    from = page.next;
  } while (!from.empty() && ++pages < 10'000);
  EXPECT_EQ(listed, keys);
  EXPECT_TRUE(places->list("", Time()).keys.empty()) << "no blob is so old";
}

TEST_F(PlacesTest, UnfinishedBlobsAreDroppedInAllPlaces) {
  for (const char* place : {"files", "others"}) {
    std::ofstream(folder / place / "tmp" / std::string(32, 'a')) << "half";
  }
  const auto places = both({Place::dir, {}});
  EXPECT_EQ(places->drop_unfinished(SystemClock().now() + std::chrono::hours(1)), 2u);
}

TEST_F(PlacesTest, IsHealthyWhenEveryWrittenPlaceIs) {
  const auto places = both({Place::dir, {}});
  s3_down = true;
  EXPECT_NO_THROW(places->check());
  EXPECT_THROW(places->check(Place::s3), Unavailable);
  places->set_plan({Place::dir, Place::s3});
  EXPECT_THROW(places->check(), Unavailable);
}

}  // namespace
}  // namespace restante
