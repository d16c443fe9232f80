// Several callers, receiving agents and sweeps at once, at random, on the same few delegations; every workspace is both
// caller and receiving agent. Afterwards the delegations table, the inboxes and all answers must agree, and the table
// of states must allow the history. RESTANTE_SEED repeats what each thread tries, but not the interleaving.
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "test_delegations.h"

namespace restante::testing {
namespace {

struct Reported {
  DelegationOutcome outcome;
  Status status_after;
  Status reported_status;
};

class DelegationStorm : public DelegationTest {
 protected:
  static constexpr int kTasks = 24;
  static constexpr int kSteps = 150;

  void record(const std::string& id, const DelegationChange& change, Status reported_status) {
    const std::lock_guard lock(mutex_);
    reported_[id].push_back({change.outcome, change.delegation.status, reported_status});
  }
  void opened(const std::string& id, const Result<OpenedDelegation>& result) {
    ASSERT_TRUE(result);
    const std::lock_guard lock(mutex_);
    openings_[id] += result->hit ? 0 : 1;
  }
  Time tick() { return at(clock_.fetch_add(1)); }

  struct Parties {
    WorkspaceId from, to;
  };
  // In a ring, and between two of them in both directions: a verb that locks heads in the order of its task would
  // deadlock with another.
  Parties parties_of(const std::string& id) const {
    const Parties all[] = {{caller, callee}, {callee, third}, {third, caller}, {callee, caller}};
    return all[std::stoul(id.substr(1)) % std::size(all)];
  }
  NewDelegation task_of(const std::string& id) const {
    auto wanted = task(id);
    wanted.caller_id = parties_of(id).from;
    wanted.callee_id = parties_of(id).to;
    return wanted;
  }
  Result<DelegationChange> send_report(const std::string& id, DelegationReport reported_status) {
    const auto [from, to] = parties_of(id);
    return store
        ->advance_delegation(reported_status.by == DelegationActor::caller ? from : to, id, std::move(reported_status),
                             tick())
        .take();
  }

  // The threads: each gets its own `random`.
  void run_caller(std::mt19937_64 random) {
    for (int i = 0; i < kSteps; ++i) {
      const auto id = some_task(random);
      if (random() % 3 != 0) {
        opened(id, try_open(task_of(id), tick()));
      } else if (auto change =
                     send_report(id, make_report(Status::failed, "cancelled by caller", DelegationActor::caller))) {
        record(id, *change, Status::failed);
      }
    }
  }
  void run_receiver(std::mt19937_64 random) {
    constexpr Status kReportable[] = {Status::in_progress, Status::completed, Status::failed};
    for (int i = 0; i < kSteps; ++i) {
      const auto id = some_task(random);
      const WorkspaceId who = parties_of(id).to;
      if (random() % 4 == 0) {
        if (const auto head = store->find_head(who)) {
          ASSERT_TRUE(store->ack_inbox(who, head->last_seq).take());
          for (const auto& change : store->pick_up_delegations({who}, tick()).take().value()) {
            record(change.delegation.id, change, Status::dispatched);
          }
        }
      } else if (random() % 2 == 0) {
        if (auto change = store->beat_delegation(who, id, "beat", tick()).take()) {
          record(id, *change, Status::dispatched);
        }
      } else {
        const Status reported_status = kReportable[random() % 3];
        if (auto change = send_report(id, make_report(reported_status))) record(id, *change, reported_status);
      }
    }
  }
  void run_sweeper(std::mt19937_64 random) {
    for (int i = 0; i < kSteps; ++i) {
      const Time now = tick();
      // Sometimes everything is overdue, or every agent has been silent.
      const Time silent = random() % 8 == 0 ? now : at(-100);
      const Time when = random() % 40 == 0 ? at(50'000) : now;
      for (const auto& change : store->sweep_delegations(silent, at(-100), 5, when).take().value().changes) {
        record(change.delegation.id, change, change.delegation.status);
      }
    }
  }
  static std::string some_task(std::mt19937_64& random) { return "d" + std::to_string(random() % kTasks); }

  // History, delegation, inboxes and answers agree.
  void check(const std::string& id) {
    SCOPED_TRACE(id);
    const auto record = read_task(id);
    const auto& history = record.history;
    ASSERT_FALSE(history.empty());
    EXPECT_EQ(history[0].status, Status::queued);
    Status status = Status::queued;
    std::map<Status, int> steps;
    int late = 0;
    for (std::size_t i = 1; i < history.size(); ++i) {
      if (history[i].late) {
        ++late;
        EXPECT_TRUE(is_final(status)) << "late before the end";
        EXPECT_EQ(history[i].by, DelegationActor::callee);
        continue;
      }
      EXPECT_TRUE(may_become(status, history[i].status)) << name_of(status) << " → " << name_of(history[i].status);
      status = history[i].status;
      ++steps[status];
    }
    EXPECT_EQ(record.delegation.status, status) << "the row has the last status of the history";
    EXPECT_LE(late, 1);
    check_inbox(id, record.delegation, late);
    check_answers(id, status, steps, late);
  }
  void check_inbox(const std::string& id, const Delegation& status_after, int late) {
    int ends = 0;
    int late_rows = 0;
    for (const auto& row : results_of(id, parties_of(id).from)) {
      row.request_body.find("\"late\":true") == std::string::npos ? ++ends : ++late_rows;
    }
    EXPECT_EQ(ends, is_final(status_after.status) ? 1 : 0) << "the caller gets exactly one row";
    EXPECT_EQ(late_rows, late);
    int brought = 0;
    for (const auto& row : inbox_of(parties_of(id).to)) {
      if (row.request_body.find("\"metadata\":{\"delegation_id\":\"" + id + "\"") != std::string::npos) ++brought;
    }
    EXPECT_EQ(brought, 1) << "the task was delivered once";
    EXPECT_EQ(openings_[id], 1);
  }
  // Every step of the history is one answered change, and every answered change is a step of the history.
  void check_answers(const std::string& id, Status status_after, std::map<Status, int> steps, int late) {
    for (const Reported& reported : reported_[id]) {
      switch (reported.outcome) {
        case DelegationOutcome::changed:
          EXPECT_EQ(reported.status_after, reported.reported_status);
          EXPECT_EQ(steps[reported.reported_status]--, 1) << "two answers for one step, or a step without an answer";
          break;
        case DelegationOutcome::late:
          --late;
          EXPECT_EQ(reported.status_after, status_after);
          break;
        case DelegationOutcome::refused:
          EXPECT_EQ(reported.status_after, status_after) << "only a final status refuses";
          break;
        case DelegationOutcome::repeated:
          EXPECT_TRUE(reported.status_after == reported.reported_status ||
                      reported.reported_status == Status::dispatched);
          break;
      }
    }
    for (const auto& [status, left] : steps) EXPECT_EQ(left, 0) << "a step without an answer: " << name_of(status);
    EXPECT_EQ(late, 0);
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<Reported>> reported_;
  std::map<std::string, int> openings_;
  std::atomic<std::int64_t> clock_{1};
};
RESTANTE_EVERY_BACKEND(DelegationStorm);

TEST_P(DelegationStorm, HistoryRowsAndAnswersAgreeAndTheTableAllowsThem) {
  const char* given = std::getenv("RESTANTE_SEED");
  const std::uint64_t seed = given ? std::stoull(given) : std::random_device()();
  std::cout << "RESTANTE_SEED=" << seed << std::endl;
  SCOPED_TRACE("RESTANTE_SEED=" + std::to_string(seed));
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([this, seed, i] { run_caller(std::mt19937_64(seed + i)); });
    threads.emplace_back([this, seed, i] { run_receiver(std::mt19937_64(seed + 100 + i)); });
  }
  for (std::uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([this, seed, i] { run_sweeper(std::mt19937_64(seed + 200 + i)); });
  }
  for (auto& thread : threads) thread.join();
  reopen();
  int found = 0;
  for (int i = 0; i < kTasks; ++i) {
    const auto id = "d" + std::to_string(i);
    if (!store->find_delegation(id)) continue;
    ++found;
    check(id);
  }
  EXPECT_GT(found, kTasks / 2);
}

// Complete, fail, cancel and stuck at the same moment: one wins, the others get the final status.
TEST_P(DelegationStorm, OfFourReportsThatEndATaskAtOnceOneWins) {
  for (int round = 0; round < 20; ++round) {
    const std::string id = "r" + std::to_string(round);
    open(task(id), tick());
    beat(id, at(0));
    std::atomic<int> won{0};
    const auto end = [&](DelegationReport reported_status) {
      const WorkspaceId who = reported_status.by == DelegationActor::caller ? caller : callee;
      const auto change = store->advance_delegation(who, id, std::move(reported_status), at(100)).take().value();
      if (change.outcome == DelegationOutcome::changed) ++won;
      EXPECT_TRUE(is_final(change.delegation.status));
    };
    std::vector<std::thread> threads;
    threads.emplace_back([&] { end(make_report(Status::completed)); });
    threads.emplace_back([&] { end(make_report(Status::failed)); });
    threads.emplace_back([&] { end(make_report(Status::failed, "cancelled by caller", DelegationActor::caller)); });
    threads.emplace_back([&] {
      const auto swept = store->sweep_delegations(at(50), at(-100), 1, at(100)).take().value();
      won += static_cast<int>(swept.changes.size());
    });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
    int ends = 0;
    for (const auto& row : results_of(id)) ends += row.request_body.find("\"late\"") == std::string::npos ? 1 : 0;
    EXPECT_EQ(ends, 1);
  }
}

// One key, fifty at once: one task.
TEST_P(DelegationStorm, AKeyUsedFiftyTimesAtOnceMakesOneTask) {
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([&, i] {
      auto wanted = task("k" + std::to_string(i));
      wanted.idempotency_key = "one";
      if (!try_open(wanted)->hit) ++made;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(inbox_of(callee).size(), 1u);
}

// The same id from callers with different inboxes: the second one gets delegation_id_taken.
TEST_P(DelegationStorm, AnIdThatTwoCallersChooseAtOnceBelongsToOne) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> made{0};
    std::atomic<int> taken{0};
    const auto choose = [&](WorkspaceId from, WorkspaceId to) {
      auto wanted = task("c" + std::to_string(round));
      wanted.caller_id = from;
      wanted.callee_id = to;
      const auto result = try_open(wanted);
      ++(result ? made : taken);
      EXPECT_TRUE(result || result.error().is(errors::delegation_id_taken));
    };
    std::thread one([&] { choose(caller, callee); });
    std::thread other([&] { choose(third, caller); });
    one.join();
    other.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace restante::testing
