// The uploads on the server, as the operator sees them.
#include <gmock/gmock.h>

#include "backends.h"

namespace restante::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UploadLists : public StoreTest {
 protected:
  std::vector<std::string> list(UploadFilter filter, Time now = at(10)) {
    std::vector<std::string> names;
    for (const auto& upload : store->list_uploads(filter, now)) names.push_back(upload.name);
    return names;
  }
  std::vector<std::string> list(UploadGroup group, std::optional<WorkspaceId> workspace = {}) {
    UploadFilter filter;
    filter.group = group;
    filter.workspace = workspace;
    return list(filter);
  }
  FileId stage_out(WorkspaceId workspace, const std::string& name, Time expires_at) {
    auto terms = until(expires_at);
    terms.direction = UploadDirection::out;
    return store->stage_uploads(workspace, {file(name, 11)}, terms, at(0)).take()->at(0).upload.id;
  }
  // One of each kind; the sizes identify them in sums.
  void stage_all(WorkspaceId workspace, const std::string& prefix) {
    const auto add = [&](const std::string& name, std::int64_t size, std::int64_t expires) {
      return stage(workspace, file(prefix + name, size), at(1), at(expires)).upload.id;
    };
    add("new", 1, 100);
    const auto fetched = add("fetched", 2, 101);
    const auto failed = add("failed", 3, 102);
    const auto tried = add("tried", 4, 103);
    const auto acked = add("acked", 5, 104);
    const auto refused_first = add("refused_first", 6, 105);
    add("late", 7, 9);
    const auto fetched_late = add("fetched_late", 8, 8);
    const auto failed_late = add("failed_late", 9, 7);
    for (const auto id : {fetched, tried, acked, fetched_late}) {
      ASSERT_TRUE(store->mark_fetched(workspace, id, at(2)).take());
    }
    for (const auto id : {failed, tried, refused_first, failed_late}) {
      ASSERT_TRUE(store->fail_upload(workspace, id, "why", at(3)).take());
    }
    ASSERT_TRUE(store->ack_upload(workspace, acked, at(5)).take());
    ASSERT_TRUE(store->ack_upload(workspace, refused_first, at(4)).take());
    stage_out(workspace, prefix + "out", at(106));
    stage_out(workspace, prefix + "out_late", at(6));
  }
};
RESTANTE_EVERY_BACKEND(UploadLists);

TEST_P(UploadLists, EveryGroupHasItsOwnAndOnlyThose) {
  const auto workspace = make_workspace().id;
  stage_all(workspace, "");
  for (const auto& own : {std::optional<WorkspaceId>(), std::optional<WorkspaceId>(workspace)}) {
    EXPECT_THAT(list(UploadGroup::waiting, own), ElementsAre("new", "fetched", "failed", "tried"));
    EXPECT_THAT(list(UploadGroup::never_fetched, own), ElementsAre("new"));
    EXPECT_THAT(list(UploadGroup::fetched, own), ElementsAre("fetched"));
    EXPECT_THAT(list(UploadGroup::failed, own), ElementsAre("failed", "tried"));
    EXPECT_THAT(list(UploadGroup::acked, own), ElementsAre("refused_first", "acked")) << "by the time of the ack";
    EXPECT_THAT(list(UploadGroup::expired, own), ElementsAre("out_late", "failed_late", "fetched_late", "late"));
    EXPECT_THAT(list(UploadGroup::outgoing, own), ElementsAre("out"));
  }
  const auto other = make_workspace().id;
  stage_all(other, "other_");
  EXPECT_THAT(list(UploadGroup::failed, other), ElementsAre("other_failed", "other_tried"));
  EXPECT_THAT(list(UploadGroup::failed), ElementsAre("failed", "other_failed", "tried", "other_tried"));
  EXPECT_THAT(list(UploadGroup::waiting, WorkspaceId::make(at(0))), IsEmpty());
}

TEST_P(UploadLists, AnEmptyStoreListsNothing) {
  make_workspace();
  for (const auto group : {UploadGroup::waiting, UploadGroup::never_fetched, UploadGroup::fetched, UploadGroup::failed,
                           UploadGroup::acked, UploadGroup::expired, UploadGroup::outgoing}) {
    EXPECT_THAT(list(group), IsEmpty());
  }
}

TEST_P(UploadLists, PagesFollowEachOtherAlsoAmongFilesOfOneMoment) {
  std::vector<std::string> expected;
  const auto workspace = make_workspace().id;
  for (int i = 0; i < 7; ++i) {
    expected.push_back("f" + std::to_string(i));
    stage(i % 3 == 0 ? make_workspace().id : workspace, file(expected.back()), at(0), at(100));
  }
  for (const auto group : {UploadGroup::waiting, UploadGroup::never_fetched}) {
    UploadFilter filter;
    filter.group = group;
    filter.limit = 3;
    std::vector<std::string> seen;
    for (auto page = store->list_uploads(filter, at(0)); !page.empty(); page = store->list_uploads(filter, at(0))) {
      for (const auto& upload : page) seen.push_back(upload.name);
      filter.after = page.back().id;
    }
    EXPECT_EQ(seen, expected);
  }
}

TEST_P(UploadLists, ADeletedCursorStartsFromTheFrontAndOneInAnotherStateKeepsItsPosition) {
  const auto workspace = make_workspace().id;
  const auto first = stage(workspace, file("a"), at(0), at(50)).upload.id;
  stage(workspace, file("b"), at(0), at(51));
  UploadFilter filter;
  filter.after = first;
  ASSERT_TRUE(store->ack_upload(workspace, first, at(1)).take());
  EXPECT_THAT(list(filter), ElementsAre("b"));
  filter.after = FileId::make(at(0));
  EXPECT_THAT(list(filter), ElementsAre("b"));
  filter.group = UploadGroup::acked;
  filter.after = store->list_uploads({}, at(1)).at(0).id;
  EXPECT_THAT(list(filter), ElementsAre("a")) << "an unacked cursor has no position among the acked";
  filter.limit = -1;
  EXPECT_THAT(list(filter), IsEmpty());
}

TEST_P(UploadLists, FilesThatExpireSoonCanBeListed) {
  const auto workspace = make_workspace().id;
  stage_all(workspace, "");
  UploadFilter filter;
  filter.expires_before = at(102);
  EXPECT_THAT(list(filter), ElementsAre("new", "fetched"));
  filter.workspace = workspace;
  filter.group = UploadGroup::fetched;
  EXPECT_THAT(list(filter), ElementsAre("fetched"));
}

TEST_P(UploadLists, TheFiguresAddUpByStateInTotalAndByWorkspace) {
  const auto first = make_workspace().id;
  const auto second = make_workspace().id;
  make_workspace();
  stage_all(first, "");
  stage_all(second, "");
  const auto stats = store->upload_stats(at(10));
  ASSERT_EQ(stats.workspaces.size(), 2u) << "only those that have any";
  EXPECT_LT(stats.workspaces[0].first, stats.workspaces[1].first);
  for (const auto& [workspace, one] : stats.workspaces) {
    EXPECT_EQ(one.never_fetched, (UploadTally{1, 1}));
    EXPECT_EQ(one.fetched, (UploadTally{1, 2}));
    EXPECT_EQ(one.failed, (UploadTally{2, 3 + 4}));
    EXPECT_EQ(one.acked, (UploadTally{2, 5 + 6}));
    EXPECT_EQ(one.expired, (UploadTally{4, 7 + 8 + 9 + 11}));
    EXPECT_EQ(one.outgoing, (UploadTally{1, 11}));
    EXPECT_EQ(one.oldest, at(1));
  }
  EXPECT_EQ(stats.total.failed, (UploadTally{4, 14}));
  EXPECT_EQ(stats.total.expired, (UploadTally{8, 70}));
  EXPECT_EQ(stats.total.oldest, at(1));
  const auto before = store->upload_stats(at(5));
  EXPECT_EQ(before.total.expired, UploadTally{}) << "nothing was overdue then";
  EXPECT_EQ(before.total.never_fetched, (UploadTally{4, 16}));
}

TEST_P(UploadLists, TheFiguresOfAPageHaveTheTotalOfAll) {
  std::vector<WorkspaceId> workspaces;
  for (int i = 0; i < 4; ++i) workspaces.push_back(make_workspace().id);
  std::ranges::sort(workspaces);
  for (const int i : {0, 1, 3}) stage(workspaces[i], file("f", 10 + i));
  const auto listed = [](const AllUploadStats& stats) {
    std::vector<WorkspaceId> all;
    for (const auto& one : stats.workspaces) all.push_back(one.first);
    return all;
  };
  const auto first = store->upload_stats(at(1), {.limit = 2});
  EXPECT_EQ(first.total.never_fetched, (UploadTally{3, 34}));
  EXPECT_THAT(listed(first), ElementsAre(workspaces[0], workspaces[1]));
  EXPECT_EQ(first.next, workspaces[1]);
  const auto second = store->upload_stats(at(1), {.after = first.next, .limit = 3});
  EXPECT_THAT(listed(second), ElementsAre(workspaces[3]));
  EXPECT_FALSE(second.next);
  const auto total = store->upload_stats(at(1), {.limit = 0});
  EXPECT_EQ(total.total.never_fetched, (UploadTally{3, 34}));
  EXPECT_THAT(listed(total), IsEmpty());
  const auto one = store->upload_stats(at(1), {.only = workspaces[3]});
  EXPECT_EQ(one.total.never_fetched, (UploadTally{1, 13}));
  EXPECT_THAT(listed(one), ElementsAre(workspaces[3]));
  EXPECT_EQ(store->upload_stats(at(1), {.only = workspaces[2]}).total.never_fetched, UploadTally{});
}

TEST_P(UploadLists, TheFiguresFollowDeletedFiles) {
  const auto workspace = make_workspace().id;
  stage_all(workspace, "");
  const auto recalled = stage(workspace, file("recalled", 100)).upload.id;
  ASSERT_TRUE(store->recall_upload(workspace, recalled, {}, at(1)).take());
  ASSERT_TRUE(store->sweep_uploads(std::chrono::seconds(0), 100, at(10)).take());
  reopen();
  const auto stats = store->upload_stats(at(10)).total;
  EXPECT_EQ(stats.expired, UploadTally{});
  EXPECT_EQ(stats.acked, UploadTally{});
  EXPECT_EQ(stats.failed, (UploadTally{2, 7}));
  EXPECT_EQ(stats.outgoing, (UploadTally{1, 11}));
  ASSERT_TRUE(store->sweep_uploads(std::chrono::seconds(0), 100, at(1000)).take());
  EXPECT_THAT(store->upload_stats(at(1000)).workspaces, IsEmpty());
  EXPECT_FALSE(store->upload_stats(at(1000)).total.oldest);
}

TEST_P(UploadLists, TheOldestIsTheOldestThatStillWaits) {
  const auto workspace = make_workspace().id;
  const auto first = stage(workspace, file("first"), at(1), at(100)).upload.id;
  stage(workspace, file("overdue"), at(2), at(5));
  stage_out(workspace, "out", at(100));
  stage(workspace, file("last"), at(4), at(100));
  EXPECT_EQ(store->upload_stats(at(10)).total.oldest, at(1));
  ASSERT_TRUE(store->ack_upload(workspace, first, at(9)).take());
  EXPECT_EQ(store->upload_stats(at(10)).total.oldest, at(4));
}

}  // namespace
}  // namespace restante::testing
