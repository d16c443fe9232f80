// A delegation through kill -9 between any two statements: each step exists completely, with its row in the caller's
// inbox and its step of the history, or not at all. Repeated, it exists once.
#include <gmock/gmock.h>

#include "killed.h"
#include "test_delegations.h"

namespace restante::testing {
namespace {

constexpr int kMostStatements = 300;

class DelegationKills : public DelegationTest {
 protected:
  using Work = std::function<void(Store&, const std::string& id)>;

  // The state of a task in the delegations table and both inboxes, in one line.
  std::string state_of_task(const std::string& id) {
    const auto record = store->read_delegation(id);
    if (!record) return "absent, " + std::to_string(task_rows(id)) + " rows";
    std::string steps, results;
    for (const auto& step : record->history)
      steps += " " + std::string(name_of(step.status)) + (step.late ? "(late)" : "");
    for (const auto& row : results_of(id)) results += " " + row.status;
    const auto files = store->list_waiting(caller, {}, 1'000'000, at(11)).size();
    return std::string(name_of(record->delegation.status)) + ", history" + steps + ", results" + results + ", " +
           std::to_string(task_rows(id)) + " rows, " + std::to_string(files - files_before) + " files, " +
           (record->result.empty() ? "no result" : "a result");
  }
  // The number of rows of the task in the receiving agent's inbox.
  int task_rows(const std::string& id) {
    int found = 0;
    for (const auto& row : inbox_of(callee)) {
      found += row.method == "message/send" && row.request_body.find("\"delegation-" + id + "\"") != std::string::npos;
    }
    return found;
  }
  void expect_right_counts() {
    DelegationStats counted;
    for (const Status status : kDelegationStatuses) {
      DelegationFilter filter;
      filter.status = status;
      filter.limit = 1'000'000;
      counted.of(status) = std::ssize(store->list_delegations(filter));
    }
    for (const Status status : kDelegationStatuses) {
      EXPECT_EQ(store->delegation_stats().of(status), counted.of(status)) << name_of(status);
    }
  }

  // Kills `work` at each of its statements, one after the other, each time on a new task that `prepare` made.
  void kill_everywhere(const Work& prepare, const Work& work, const std::string& before, const std::string& after) {
    int undone = 0, done = 0;
    for (int n = 1; n <= kMostStatements; ++n) {
      const std::string id = "k" + std::to_string(n);
      prepare(*store, id);
      files_before = store->list_waiting(caller, {}, 1'000'000, at(11)).size();
      ASSERT_EQ(state_of_task(id), before);
      store.reset();
      const KillOutcome kill_outcome =
          kill_at_statement(n, [&] { return backend->open(); }, [&](Store& opened) { work(opened, id); });
      ASSERT_NE(kill_outcome, KillOutcome::failed) << "statement " << n;
      backend->wait_until_unused();
      store = backend->open();
      const std::string now = state_of_task(id);
      if (now == before) ++undone;
      if (now == after) ++done;
      ASSERT_TRUE(now == before || now == after) << now << " at statement " << n;
      if (kill_outcome == KillOutcome::finished) {
        ASSERT_EQ(now, after) << "an answered change is there";
      }
      work(*store, id);
      ASSERT_EQ(state_of_task(id), after) << "repeated, at statement " << n;
      expect_right_counts();
      if (kill_outcome == KillOutcome::finished) break;
      ASSERT_LT(n, kMostStatements);
    }
    EXPECT_GT(undone, 2) << "it has statements to be killed at";
    EXPECT_GT(done, 0) << "and is also done completely";
  }
  std::size_t files_before = 0;
};
RESTANTE_EVERY_BACKEND(DelegationKills);

TEST_P(DelegationKills, GivingATaskIsWholeOrNothing) {
  kill_everywhere([](Store&, const std::string&) {},
                  [&](Store& opened, const std::string& id) { opened.open_delegation(task(id), at(1)).take().value(); },
                  "absent, 0 rows", "queued, history queued, results, 1 rows, 0 files, no result");
}

TEST_P(DelegationKills, PickingUpIsWholeOrNothing) {
  kill_everywhere([&](Store& opened, const std::string& id) { opened.open_delegation(task(id), at(1)).take().value(); },
                  [&](Store& opened, const std::string& id) {
                    opened.ack_inbox(callee, *opened.find_delegation(id)->inbox_seq).take().value();
                    opened.pick_up_delegations({callee}, at(5)).take().value();
                  },
                  "queued, history queued, results, 1 rows, 0 files, no result",
                  "dispatched, history queued dispatched, results, 1 rows, 0 files, no result");
}

TEST_P(DelegationKills, AResultWithItsFileEndsATaskOnceAndReachesTheCallerOnce) {
  FileId source;
  kill_everywhere(
      [&](Store& opened, const std::string& id) {
        opened.open_delegation(task(id), at(1)).take().value();
        const auto item = small_file("out.txt", "bytes");
        auto terms = until(at(500));
        terms.direction = UploadDirection::out;
        opened.stage_uploads(callee, {item}, terms, at(1)).take().value();
        source = item.id;
      },
      [&](Store& opened, const std::string& id) {
        auto done = make_report(Status::completed, "see file");
        done.attachments = {{callee, source, FileId::make(at(1))}};
        done.files = R"([{"uri":")" + pending_uri(caller, done.attachments[0].id) + R"(","name":"out.txt"}])";
        opened.advance_delegation(callee, id, done, at(10)).take().value();
      },
      "queued, history queued, results, 1 rows, 0 files, no result",
      "completed, history queued completed, results ok, 1 rows, 1 files, a result");
}

TEST_P(DelegationKills, ACancelledTaskEndsOnceAndTheCallerGetsOneRow) {
  kill_everywhere([&](Store& opened, const std::string& id) { opened.open_delegation(task(id), at(1)).take().value(); },
                  [&](Store& opened, const std::string& id) {
                    const auto cancelled = make_report(Status::failed, "cancelled by caller", DelegationActor::caller);
                    opened.advance_delegation(caller, id, cancelled, at(10)).take().value();
                  },
                  "queued, history queued, results, 1 rows, 0 files, no result",
                  "failed, history queued failed, results error, 1 rows, 0 files, a result");
}

TEST_P(DelegationKills, TheSweepEndsATaskOnceAndTheCallerGetsOneRow) {
  const auto prepare = [&](Store& opened, const std::string& id) {
    opened.open_delegation(task(id), at(1)).take().value();
    opened.beat_delegation(callee, id, {}, at(2)).take().value();
  };
  const auto sweep_once = [](Store& opened, const std::string&) {
    opened.sweep_delegations(at(9), at(0), 100, at(10)).take().value();
  };
  kill_everywhere(prepare, sweep_once, "dispatched, history queued dispatched, results, 1 rows, 0 files, no result",
                  "stuck, history queued dispatched stuck, results error, 1 rows, 0 files, a result");
}

TEST_P(DelegationKills, ALateAnswerIsKeptAndReachesTheCallerOnce) {
  kill_everywhere(
      [&](Store& opened, const std::string& id) {
        opened.open_delegation(task(id), at(1)).take().value();
        const auto overdue = make_report(Status::failed, "deadline exceeded", DelegationActor::platform);
        opened.advance_delegation(callee, id, overdue, at(9)).take().value();
      },
      [&](Store& opened, const std::string& id) {
        opened.advance_delegation(callee, id, make_report(Status::completed, "late"), at(10)).take().value();
      },
      "failed, history queued failed, results error, 1 rows, 0 files, a result",
      "failed, history queued failed completed(late), results error ok, 1 rows, 0 files, a result");
}

}  // namespace
}  // namespace restante::testing
