// Blobs in more than one place: second keys, how they change, and the blob move itself.
#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Step = BegunBlobMove::Step;

class BlobMoves : public StoreTest {
 protected:
  NewUpload in(Place place, const std::string& name = "f") {
    NewUpload item = file(name);
    item.blob_key = key_in(place, item.blob_key);
    return item;
  }
  NewUpload in_both(Place first, Place second) {
    NewUpload item = in(first);
    item.twin_key = key_in(second, Uuid::make(at(0)).hex());
    return item;
  }
  NewUpload staged(NewUpload item, UploadDirection direction = UploadDirection::in) {
    auto terms = until(at(86400));
    terms.direction = direction;
    EXPECT_TRUE(store->stage_uploads(workspace, {item}, terms, at(0)).take());
    return item;
  }
  BlobKeys keys_now(const NewUpload& item) { return store->find_upload(workspace, item.id)->keys(); }
  std::vector<std::string> dropped(Time remote_before = at(1'000'000)) {
    return store->list_dropped_blobs(100, remote_before, "");
  }
  void recall(const NewUpload& item, Time now = at(5)) {
    EXPECT_TRUE(store->recall_upload(workspace, item.id, {}, now).take());
  }
  std::int64_t place(const BlobKeys& was, const BlobKeys& is, Time now = at(5)) {
    return store->change_blob_keys({{was, is}}, now).take().value();
  }

  WorkspaceId workspace = make_workspace().id;
};
RESTANTE_EVERY_BACKEND(BlobMoves);

TEST_P(BlobMoves, ASecondKeyIsCopiedWithTheRowAndDroppedWithTheLastOne) {
  const auto source = staged(in_both(Place::s3, Place::dir), UploadDirection::out);
  EXPECT_EQ(keys_now(source), source.keys());
  const auto other = make_workspace().id;
  const OutgoingFile copy{workspace, source.id, FileId::make(at(0))};
  ASSERT_TRUE(store->append_to_inbox_with_files(other, message("m"), {copy}, until(at(100)), at(1)).take());
  EXPECT_EQ(store->find_upload(other, copy.id)->keys(), source.keys());
  const std::vector<std::string> both{source.twin_key, source.blob_key};
  EXPECT_EQ(store->known_blobs(both), both);
  recall(source);
  EXPECT_THAT(dropped(), IsEmpty());
  ASSERT_TRUE(store->recall_upload(other, copy.id, {}, at(6)).take());
  EXPECT_THAT(dropped(), ElementsAre(source.twin_key, source.blob_key));
  EXPECT_EQ(store->known_blobs(both), both) << "while they are listed as dropped";
  reopen();
  EXPECT_THAT(dropped(), ElementsAre(source.twin_key, source.blob_key));
}

TEST_P(BlobMoves, AKeyThatAnyRowNamesIsNotDropped) {
  const auto one = staged(in(Place::dir));
  NewUpload two = in(Place::s3);
  two.twin_key = one.blob_key;
  staged(two);
  recall(one);
  EXPECT_THAT(dropped(), IsEmpty());
  recall(two);
  EXPECT_THAT(dropped(), ElementsAre(one.blob_key, two.blob_key));
}

TEST_P(BlobMoves, FilesAreListedAsDroppedAtOnceAndOtherBlobsAfterAllReadsHaveEnded) {
  const auto item = staged(in_both(Place::inlined, Place::dir));
  const auto object = staged(in(Place::s3));
  recall(item, at(10));
  recall(object, at(20));
  EXPECT_THAT(dropped(at(10)), ElementsAre(item.twin_key));
  EXPECT_THAT(dropped(at(11)), ElementsAre(item.twin_key, item.blob_key));
  EXPECT_THAT(dropped(at(21)), ElementsAre(item.twin_key, item.blob_key, object.blob_key));
  EXPECT_THAT(store->list_dropped_blobs(100, at(21), item.twin_key), ElementsAre(item.blob_key, object.blob_key));
  EXPECT_THAT(store->list_dropped_blobs(1, at(21), item.twin_key), ElementsAre(item.blob_key));
  ASSERT_TRUE(store->forget_dropped_blobs({item.blob_key, item.twin_key}).take());
  EXPECT_THAT(dropped(at(21)), ElementsAre(object.blob_key));
}

TEST_P(BlobMoves, AllRowsOfABlobChangeTogetherAndOnlyIfTheirKeysAreAsExpected) {
  const auto source = staged(in(Place::dir), UploadDirection::out);
  const auto other = make_workspace().id;
  const OutgoingFile copy{workspace, source.id, FileId::make(at(0))};
  ASSERT_TRUE(store->append_to_inbox_with_files(other, message("m"), {copy}, until(at(100)), at(1)).take());
  const BlobKeys was = source.keys();
  const BlobKeys both{key_in(Place::s3, was.key), was.key};
  EXPECT_EQ(place(was, both), 2);
  EXPECT_EQ(keys_now(source), both);
  EXPECT_EQ(store->find_upload(other, copy.id)->keys(), both);
  EXPECT_THAT(dropped(), IsEmpty());
  EXPECT_EQ(place(was, {"s3:too late", was.key}), 0);
  EXPECT_EQ(place({both.key, "another"}, {both.key, {}}), 0);
  EXPECT_EQ(place(both, {both.twin, both.key}), 2) << "reversed";
  EXPECT_EQ(place({both.twin, both.key}, both), 2);
  EXPECT_THAT(dropped(), IsEmpty());
  EXPECT_EQ(place(both, {both.key, {}}, at(7)), 2);
  EXPECT_THAT(dropped(), ElementsAre(was.key));
  EXPECT_EQ(keys_now(source), (BlobKeys{both.key, {}}));
  EXPECT_EQ(store->change_blob_keys({}, at(7)).take().value(), 0);
}

TEST_P(BlobMoves, StateAndReceiptsSurviveAChangeOfPlace) {
  const auto item = staged(in(Place::dir));
  ASSERT_TRUE(store->mark_fetched(workspace, item.id, at(3)).take());
  EXPECT_EQ(place(item.keys(), {"s3:new", item.blob_key}), 1);
  const auto row = store->find_upload(workspace, item.id);
  EXPECT_EQ(row->fetched_at, at(3));
  ASSERT_TRUE(store->ack_upload(workspace, item.id, at(4)).take());
  EXPECT_EQ(store->sweep_uploads(seconds(0), 10, at(5)).take()->acked, 1);
  EXPECT_THAT(dropped(), ElementsAre(item.blob_key, "s3:new"));
}

TEST_P(BlobMoves, BlobsOfAPlaceAreListedByKeyEachOnceAndWithoutDamagedOnes) {
  const auto a = staged(in(Place::dir), UploadDirection::out);
  const OutgoingFile copy{workspace, a.id, FileId::make(at(0))};
  ASSERT_TRUE(store->append_to_inbox_with_files(workspace, message("m"), {copy}, until(at(100)), at(1)).take());
  const auto b = staged(in_both(Place::dir, Place::inlined));
  const auto damaged = staged(in(Place::dir));
  ASSERT_TRUE(store->mark_damaged(workspace, damaged.id, UploadDamage::changed, at(1)).take());
  staged(in(Place::s3));
  staged(small_file("s", "in its row"));
  std::vector<std::string> keys{a.blob_key, b.blob_key};
  std::ranges::sort(keys);
  const auto all = store->list_blobs(KeyRole::first, Place::dir, "", 10);
  ASSERT_EQ(all.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].keys.key, keys[i]);
    EXPECT_EQ(all[i].size, 5);
    const auto row = store->find_upload(all[i].workspace_id, all[i].file_id);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->keys(), all[i].keys);
    EXPECT_EQ(row->sha256, all[i].sha256);
  }
  EXPECT_EQ(store->list_blobs(KeyRole::first, Place::dir, "", 1).size(), 1u);
  EXPECT_EQ(store->list_blobs(KeyRole::first, Place::dir, keys[0], 10).at(0).keys.key, keys[1]);
  EXPECT_THAT(store->list_blobs(KeyRole::first, Place::dir, keys[1], 10), IsEmpty());
  EXPECT_THAT(store->list_blobs(KeyRole::first, Place::dir, "", -1), IsEmpty());
  EXPECT_THAT(store->list_blobs(KeyRole::first, Place::inlined, "", 10), IsEmpty());
  EXPECT_EQ(store->list_blobs(KeyRole::twin, Place::inlined, "", 10).at(0).keys, b.keys());
  EXPECT_THAT(store->list_blobs(KeyRole::twin, Place::dir, "", 10), IsEmpty());
  const auto figures = store->count_blobs();
  EXPECT_THAT(figures,
              ElementsAre(PlaceFigures{Place::dir, 3, 15, 1, 5, 0, 0}, PlaceFigures{Place::inlined, 0, 0, 0, 0, 1, 5},
                          PlaceFigures{Place::s3, 1, 5, 0, 0, 0, 0}));
}

TEST_P(BlobMoves, AMoveIsBegunReversedFinishedAndRemembered) {
  EXPECT_FALSE(store->find_blob_move());
  const auto begun = store->begin_blob_move(Place::dir, Place::s3, 7, at(1)).take();
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->step, Step::begun);
  EXPECT_EQ(store->find_blob_move(), begun->move);
  EXPECT_EQ(begun->move, (BlobMove{Place::dir, Place::s3, BlobPhase::both, 7, at(1), at(1)}));
  EXPECT_EQ(store->begin_blob_move(Place::dir, Place::s3, 9, at(2)).take()->step, Step::repeated);
  EXPECT_EQ(store->find_blob_move()->rate, 9);
  EXPECT_EQ(store->find_blob_move()->begun_at, at(1));
  EXPECT_ERROR(store->begin_blob_move(Place::dir, Place::inlined, 0, at(2)).take(), errors::blob_move_under_way);
  const auto reversed = store->begin_blob_move(Place::s3, Place::dir, 0, at(3)).take();
  ASSERT_TRUE(reversed);
  EXPECT_EQ(reversed->step, Step::turned);
  EXPECT_FALSE(store->advance_blob_move(begun->move, BlobPhase::finishing, at(4)).take().value())
      << "the move has been reversed since";
  EXPECT_TRUE(store->advance_blob_move(reversed->move, BlobPhase::finishing, at(4)).take().value());
  EXPECT_FALSE(store->advance_blob_move(reversed->move, BlobPhase::finishing, at(5)).take().value());
  reopen();
  const auto finishing = store->find_blob_move();
  EXPECT_EQ(finishing, (BlobMove{Place::s3, Place::dir, BlobPhase::finishing, 0, at(3), at(4)}));
  EXPECT_ERROR(store->begin_blob_move(Place::dir, Place::s3, 0, at(5)).take(), errors::blob_move_under_way);
  EXPECT_TRUE(store->advance_blob_move(*finishing, BlobPhase::finished, at(6)).take().value());
  EXPECT_EQ(store->begin_blob_move(Place::dir, Place::inlined, 0, at(7)).take()->step, Step::begun);
}

TEST_P(BlobMoves, AnUpdateOfAnEarlierMoveDoesNotChangeALaterOneOfTheSamePlaces) {
  EXPECT_FALSE(store->advance_blob_move({}, BlobPhase::finishing, at(1)).take().value()) << "there was no move yet";
  const auto earlier = store->begin_blob_move(Place::dir, Place::s3, 0, at(1)).take().value().move;
  ASSERT_TRUE(store->advance_blob_move(earlier, BlobPhase::finished, at(2)).take().value());
  const auto later = store->begin_blob_move(Place::dir, Place::s3, 0, at(3)).take().value().move;
  EXPECT_FALSE(store->advance_blob_move(earlier, BlobPhase::finishing, at(4)).take().value());
  EXPECT_EQ(store->find_blob_move(), later);
  EXPECT_TRUE(store->advance_blob_move(later, BlobPhase::finishing, at(4)).take().value());
}

TEST_P(BlobMoves, OneWorkerAtATimeHoldsTheLease) {
  const WorkerId one = WorkerId::make(at(0));
  const WorkerId two = WorkerId::make(at(1));
  EXPECT_FALSE(store->take_blob_move_lease(one, at(10), at(1)).take().value()) << "there is no move";
  ASSERT_TRUE(store->begin_blob_move(Place::dir, Place::s3, 0, at(1)).take());
  EXPECT_TRUE(store->take_blob_move_lease(one, at(10), at(1)).take().value());
  EXPECT_FALSE(store->take_blob_move_lease(two, at(12), at(9)).take().value());
  EXPECT_TRUE(store->take_blob_move_lease(one, at(20), at(9)).take().value());
  EXPECT_FALSE(store->take_blob_move_lease(two, at(25), at(19)).take().value());
  EXPECT_TRUE(store->take_blob_move_lease(two, at(30), at(20)).take().value());
  EXPECT_FALSE(store->take_blob_move_lease(one, at(31), at(21)).take().value());
}

}  // namespace
}  // namespace restante::testing
