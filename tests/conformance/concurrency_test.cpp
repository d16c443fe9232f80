#include <set>
#include <thread>

#include "backends.h"

namespace restante::testing {
namespace {

class Concurrency : public StoreTest {
 protected:
  // Follows the inbox from a cursor until `total` rows were read, as an agent does.
  std::vector<InboxRow> follow(WorkspaceId workspace, std::size_t total, bool by_id) {
    std::vector<InboxRow> seen;
    InboxQuery query;
    query.since_seq = 0;
    query.limit = 7;
    while (seen.size() < total) {
      for (auto& row : store->read_inbox(workspace, query).value()) seen.push_back(std::move(row));
      if (seen.empty()) continue;
      query = {};
      query.limit = 7;
      if (by_id) {
        query.since_id = seen.back().id;
      } else {
        query.since_seq = seen.back().seq;
      }
    }
    return seen;
  }
};
RESTANTE_EVERY_BACKEND(Concurrency);

TEST_P(Concurrency, WithSixteenWritersEachReaderSeesEveryRowOnceAndInOrder) {
  constexpr int kWriters = 16;
  constexpr int kEach = 60;
  const auto workspace = make_workspace().id;
  std::vector<std::vector<InboxRow>> seen(2);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < seen.size(); ++r) {
    threads.emplace_back([&, r] { seen[r] = follow(workspace, kWriters * kEach, r == 1); });
  }
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      // Each writer has its own clock, some of them wrong.
      for (int i = 0; i < kEach; ++i) {
        if (i % 3 == 0) {
          stage(workspace, file(std::to_string(w) + "." + std::to_string(i)), at(w * 100 - i));
        } else {
          append(workspace, message(std::to_string(w) + "." + std::to_string(i)), at(w * 100 - i));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& rows : seen) {
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(kWriters * kEach));
    std::set<std::string> summaries;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].seq, static_cast<std::int64_t>(i) + 1);
      EXPECT_GE(rows[i].created_at, rows[i == 0 ? 0 : i - 1].created_at);
      summaries.insert(rows[i].summary);
    }
    EXPECT_EQ(summaries.size(), rows.size());
  }
}

TEST_P(Concurrency, SixtyFourCallersOnManyWorkspacesGetTheirOwnNumbers) {
  std::vector<WorkspaceId> workspaces;
  for (int i = 0; i < 8; ++i) workspaces.push_back(make_workspace().id);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      const auto workspace = workspaces[t % workspaces.size()];
      std::int64_t last = 0;
      for (int i = 0; i < 8; ++i) {
        const auto seq = append(workspace, message("x")).seq;
        EXPECT_GT(seq, last) << "the rows of one caller keep their order";
        last = seq;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto workspace : workspaces) EXPECT_EQ(inbox_of(workspace).size(), 64u);
}

TEST_P(Concurrency, AVerbIsCommittedAlsoWhenItsCommitIsNotTaken) {
  const auto workspace = make_workspace().id;
  for (int i = 0; i < 100; ++i) store->append_to_inbox(workspace, message("x"), at(i));
  reopen();
  EXPECT_EQ(inbox_of(workspace).size(), 100u);
}

}  // namespace
}  // namespace restante::testing
