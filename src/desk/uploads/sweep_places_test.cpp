#include <gtest/gtest.h>

#include "desk/test_desk.h"
#include "desk/uploads/sweep.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// Rows with content in files, in the database and in a directory that stands for a bucket, during a blob move between
// two of them. Each place may be unreachable.
class SweepPlacesTest : public ::testing::TestWithParam<Place> {
 protected:
  static SweepRules small_steps() {
    SweepRules rules;
    rules.step = 3;
    rules.longest_request = minutes(1);
    return rules;
  }
  void stage(PlacePlan plan, int count) {
    places.set_plan(plan);
    for (int i = 0; i < count; ++i) {
      auto staging = uploads.stage(workspace, UploadDirection::in, kOperator);
      EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
      EXPECT_TRUE((*staging)->write(std::string(20'000, 'x')).has_value());
      EXPECT_TRUE((*staging)->end_file().has_value());
      EXPECT_TRUE((*staging)->commit().take());
    }
  }
  void orphan(Blobs& place) {
    const auto writer = place.put();
    writer->write("an orphan");
    (void)writer->finish();
  }
  static std::size_t count(Blobs& place) {
    std::size_t all = 0;
    for (std::string from;;) {
      const BlobPage page = place.list(from, Time::max());
      all += page.keys.size();
      from = page.next;
      if (from.empty()) return all;
    }
  }
  std::map<Place, std::size_t> counts() {
    return {{Place::dir, count(*desk.blobs)}, {Place::inlined, count(*desk.chunks)}, {Place::s3, count(*bucket)}};
  }
  HookedBlobs& hooked(Place place) {
    if (place == Place::dir) return files;
    return place == Place::inlined ? rows : objects;
  }

  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  std::unique_ptr<Blobs> bucket = dir::open(desk.folder.path() / "bucket");
  HookedBlobs files{*desk.blobs};
  HookedBlobs rows{*desk.chunks};
  HookedBlobs objects{*bucket};
  Places places{
      {{Place::dir, files}, {Place::inlined, rows}, {Place::s3, objects}}, {Place::dir, {}}, desk.log, desk.metrics};
  Uploads uploads{*desk.store, places, desk.event_bus, desk.clock, desk.log, desk.metrics, {}};
  Sweep sweep{*desk.store, places, uploads.events(), desk.clock, desk.log, desk.metrics, small_steps()};
};

TEST_P(SweepPlacesTest, AnUnreachablePlaceKeepsItsBlobsUntilItAnswersAndTheOthersAreEmptied) {
  stage({Place::inlined, {}}, 4);
  stage({Place::dir, {}}, 4);
  stage({Place::s3, {}}, 4);
  stage({Place::s3, Place::dir}, 4);
  orphan(*desk.blobs);
  orphan(*desk.chunks);
  orphan(*bucket);
  ASSERT_EQ(counts(), (std::map<Place, std::size_t>{{Place::dir, 9}, {Place::inlined, 5}, {Place::s3, 9}}));
  (void)sweep.run_once();  // finds the blobs without a row
  HookedBlobs& away = hooked(GetParam());
  away.dropping = [] { throw Unavailable("no answer"); };
  const bool written_to = GetParam() != Place::inlined;
  // Rows and files are deleted. An hour later no request can be reading the rest.
  for (const auto later : {hours(24), hours(1)}) {
    desk.clock.advance(later);
    if (written_to) {
      EXPECT_THROW((void)sweep.run_once(), Unavailable) << "the operator has to act";
    } else {
      EXPECT_TRUE(sweep.run_once());
    }
  }
  EXPECT_EQ(desk.metrics.swept("expired").Value(), 16);
  EXPECT_EQ(desk.metrics.swept("error").Value(), written_to ? 2 : 0);
  for (const auto& [place, left] : counts()) {
    EXPECT_EQ(left == 0, place != GetParam()) << name_of(place) << ": " << left;
  }
  away.dropping = nullptr;
  EXPECT_TRUE(sweep.run_once());
  desk.clock.advance(hours(2));
  EXPECT_TRUE(sweep.run_once());
  EXPECT_EQ(counts(), (std::map<Place, std::size_t>{{Place::dir, 0}, {Place::inlined, 0}, {Place::s3, 0}}));
  EXPECT_TRUE(desk.store->list_dropped_blobs(10, Time::max(), "").empty());
}

INSTANTIATE_TEST_SUITE_P(Places, SweepPlacesTest, ::testing::ValuesIn(kPlaces),
                         [](const auto& name) { return std::string(name_of(name.param)); });

}  // namespace
}  // namespace restante::desk
