// Acknowledged writes exist after the process was killed: a child writes and reports to its parent through a pipe, the
// parent kills it in the middle of its work and checks the store.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <thread>

#include "backends.h"
#include "killed.h"

namespace restante::testing {
namespace {

enum class Act : std::int64_t { appended, staged, acked, recalled, swept };

// One acknowledged act: small enough that a write to the pipe is never torn.
struct Acknowledged {
  std::array<std::uint8_t, 16> id;
  std::int64_t seq;  // of its inbox row
  Act act;
};

constexpr std::int64_t kDue = 1'000'000;  // when files expire

class Durability : public ::testing::TestWithParam<BackendKind> {
 protected:
  // The writing end, in the child.
  struct AckPipe {
    int pipe;
    void report(const Uuid& id, std::int64_t seq, Act act) const {
      const Acknowledged reported{id.bytes(), seq, act};
      if (write(pipe, &reported, sizeof reported) != sizeof reported) _exit(3);
    }
  };

  static NewUpload new_file(int thread, int i) {
    const std::string name = std::to_string(thread) + "." + std::to_string(i);
    return i % 4 < 2 ? file(name) : small_file(name, "content of " + name);
  }

  static FileId stage(Store& store, WorkspaceId workspace, const AckPipe& ack_pipe, const NewUpload& item,
                      Time expires_at, Time now) {
    const auto staged = store.stage_uploads(workspace, {item}, until(expires_at), now).take().value().at(0);
    ack_pipe.report(item.id.uuid(), staged.row.seq, Act::staged);
    return item.id;
  }

  // Runs in the child, for ever.
  static void write_on(Store& store, WorkspaceId workspace, int thread, const AckPipe& ack_pipe) {
    for (int i = 0;; ++i) {
      const Time later = at(kDue * 2);
      if (i % 5 == 0) {
        const auto appended = store.append_to_inbox(workspace, message("m"), at(i)).take().value();
        ack_pipe.report(appended.id.uuid(), appended.seq, Act::appended);
      } else if (i % 5 == 1) {
        const auto id = stage(store, workspace, ack_pipe, new_file(thread, i), later, at(i));
        ack_pipe.report(id.uuid(), store.ack_upload(workspace, id, at(i)).take()->receipt->seq, Act::acked);
      } else if (i % 5 == 2) {
        const auto id = stage(store, workspace, ack_pipe, new_file(thread, i), later, at(i));
        ack_pipe.report(id.uuid(), store.recall_upload(workspace, id, {}, at(i)).take()->receipt->seq, Act::recalled);
      } else if (i % 5 == 3) {
        stage(store, workspace, ack_pipe, new_file(thread, i), at(kDue), at(i));
      } else {
        const auto swept = store.sweep_uploads(std::chrono::seconds(kDue), 3, at(kDue)).take().value();
        for (const auto& change : swept.expired) {
          ack_pipe.report(change.upload.id.uuid(), change.receipt->seq, Act::swept);
        }
      }
    }
  }

  static void work(Backend& backend, WorkspaceId workspace, int pipe) {
    const auto store = backend.open();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back([&, t] { write_on(*store, workspace, t, {pipe}); });
    for (auto& thread : threads) thread.join();
  }

  // Rows, receipts, finished uploads, figures and dropped blobs agree.
  static void expect_nothing_half_done(Store& store, WorkspaceId workspace,
                                       const std::map<std::int64_t, InboxRow>& rows) {
    std::map<std::string, std::int64_t> methods;
    for (const auto& [seq, row] : rows) ++methods[row.method];
    UploadFilter filter;
    filter.limit = 1'000'000;
    const auto waiting = store.list_uploads(filter, at(0));
    filter.group = UploadGroup::acked;
    const auto acked = store.list_uploads(filter, at(0));
    EXPECT_EQ(std::ssize(acked), methods["chat_upload_acked"]) << "none of them was old enough to be swept";
    EXPECT_EQ(std::ssize(waiting), methods["chat_upload_receive"] - methods["chat_upload_acked"] -
                                       methods["chat_upload_recalled"] - methods["chat_upload_expired"]);
    const auto total = store.upload_stats(at(0)).total;
    EXPECT_EQ(total.never_fetched.files, std::ssize(waiting));
    EXPECT_EQ(total.acked.files, std::ssize(acked));
    std::int64_t bytes = 0;
    for (const auto& upload : acked) bytes += upload.size;
    EXPECT_EQ(total.acked.bytes, bytes);
    for (const auto& list : {waiting, acked}) {
      for (const auto& upload : list) {
        if (upload.in_row()) {
          EXPECT_EQ(store.read_upload(workspace, upload.id)->content, "content of " + upload.name);
        }
      }
    }
    // Blobs of deleted uploads are listed to be dropped, and no blob that is still needed.
    const auto dropped = store.list_dropped_blobs(1'000'000, at(0), "");
    for (const auto& upload : waiting) EXPECT_EQ(std::ranges::count(dropped, upload.blob_key), 0);
    std::int64_t deleted_blobs = 0;
    for (const auto& [seq, row] : rows) {
      const bool deleted = row.method == "chat_upload_recalled" || row.method == "chat_upload_expired";
      // Small content is longer than five bytes; the others have five.
      if (deleted && row.request_body.find("\"size\":5,") != std::string::npos) ++deleted_blobs;
    }
    EXPECT_EQ(std::ssize(dropped), deleted_blobs);
  }
};
RESTANTE_EVERY_BACKEND(Durability);

TEST_P(Durability, AcknowledgedWritesSurviveAKillInTheMiddleOfWork) {
  const auto backend = GetParam().make();
  const auto workspace = backend->open()->create_workspace({}, at(0)).take()->id;
  std::vector<Acknowledged> reported;
  for (const std::size_t kill_after : {1, 200, 437}) {
    const auto more = run_and_kill<Acknowledged>([&](int pipe) { work(*backend, workspace, pipe); }, kill_after);
    EXPECT_GE(more.size(), kill_after);
    reported.insert(reported.end(), more.begin(), more.end());
  }
  backend->wait_until_unused();
  const auto store = backend->open();
  InboxQuery all;
  all.since_seq = 0;
  all.limit = 1'000'000;
  all.max_bytes = SIZE_MAX;
  std::map<std::int64_t, InboxRow> rows;
  for (auto& row : store->read_inbox(workspace, all).value()) rows.emplace(row.seq, row);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.rbegin()->first, std::ssize(rows)) << "no number is missing";
  for (const auto& one : reported) {
    ASSERT_TRUE(rows.contains(one.seq));
    const auto& row = rows.at(one.seq);
    if (one.act == Act::appended) {
      EXPECT_EQ(row.id.uuid().bytes(), one.id);
      continue;
    }
    const auto upload_status = store->find_upload_status(workspace, FileId(Uuid(one.id)), at(0));
    ASSERT_TRUE(upload_status);
    EXPECT_NE(row.request_body.find(upload_status->upload.id.text()), std::string::npos);
    switch (one.act) {
      case Act::acked:
        EXPECT_EQ(row.method, "chat_upload_acked");
        EXPECT_EQ(upload_status->state, UploadState::acked);
        break;
      case Act::recalled:
        EXPECT_EQ(row.method, "chat_upload_recalled");
        EXPECT_EQ(upload_status->state, UploadState::recalled);
        break;
      case Act::swept:
        EXPECT_EQ(row.method, "chat_upload_expired");
        EXPECT_EQ(upload_status->state, UploadState::expired);
        break;
      default:
        EXPECT_EQ(row.method, "chat_upload_receive");
    }
  }
  expect_nothing_half_done(*store, workspace, rows);
}

}  // namespace
}  // namespace restante::testing
