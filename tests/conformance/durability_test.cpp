// What was acknowledged is there after the process was killed: a child writes and tells its parent over a pipe, the
// parent kills it in the middle of its work and looks.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <thread>

#include "backends.h"

namespace restante::testing {
namespace {

// One acknowledged append or upload: small enough that a write to the pipe is never torn.
struct Acknowledged {
  std::array<std::uint8_t, 16> id;
  std::int64_t seq;
  std::int64_t is_upload;
};

class Durability : public ::testing::TestWithParam<BackendKind> {
 protected:
  // Runs in the child, for ever.
  static void write_on(Store& store, WorkspaceId workspace, int thread, int pipe) {
    for (int i = 0;; ++i) {
      Acknowledged told{};
      if (i % 2 == 0) {
        const auto appended = store.append_activity(workspace, message("m"), at(i)).take().value();
        told = {appended.id.uuid().bytes(), appended.seq, 0};
      } else {
        const auto item = file(std::to_string(thread) + "." + std::to_string(i));
        const auto staged = store.stage_uploads(workspace, {&item, 1}, at(i), at(86400 * 365)).take().value().at(0);
        if (!store.ack_upload(workspace, item.id, at(i + 1)).take()) _exit(2);
        told = {item.id.uuid().bytes(), staged.activity.seq, 1};
      }
      if (write(pipe, &told, sizeof told) != sizeof told) _exit(3);
    }
  }

  static void work(Backend& backend, WorkspaceId workspace, int pipe) {
    const auto store = backend.open();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back([&, t] { write_on(*store, workspace, t, pipe); });
    for (auto& thread : threads) thread.join();
  }

  // Everything the child told, up to and after the kill.
  static std::vector<Acknowledged> run_and_kill(const std::function<void(int)>& body, std::size_t kill_after) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      body(ends[1]);
      _exit(4);
    }
    close(ends[1]);
    std::vector<Acknowledged> told;
    Acknowledged one{};
    while (read(ends[0], &one, sizeof one) == sizeof one) {
      told.push_back(one);
      if (told.size() == kill_after) kill(child, SIGKILL);
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself: " << status;
    return told;
  }
};
RESTANTE_EVERY_BACKEND(Durability);

TEST_P(Durability, WhatWasAcknowledgedSurvivesAKillInTheMiddleOfWork) {
  const auto backend = GetParam().make();
  const auto workspace = backend->open()->create_workspace({}, at(0)).take()->id;
  std::vector<Acknowledged> told;
  for (const std::size_t kill_after : {1, 100, 237}) {
    const auto more = run_and_kill([&](int pipe) { work(*backend, workspace, pipe); }, kill_after);
    EXPECT_GE(more.size(), kill_after);
    told.insert(told.end(), more.begin(), more.end());
  }
  const auto store = backend->open();
  ActivityQuery all;
  all.since_seq = 0;
  all.limit = 1'000'000;
  std::map<std::int64_t, Activity> rows;
  for (auto& row : store->read_activity(workspace, all).value()) rows.emplace(row.seq, row);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.rbegin()->first, std::ssize(rows)) << "no number is missing";
  for (const auto& one : told) {
    ASSERT_TRUE(rows.contains(one.seq));
    if (one.is_upload == 0) {
      EXPECT_EQ(rows.at(one.seq).id.uuid().bytes(), one.id);
      continue;
    }
    const auto upload = store->find_upload(workspace, FileId(Uuid(one.id)));
    ASSERT_TRUE(upload);
    EXPECT_TRUE(upload->acked_at);
    EXPECT_EQ(rows.at(one.seq).summary, "chat_upload_receive: " + upload->name);
  }
  // And nothing is half done: a staged row for every upload, a receipt for every ack.
  std::map<std::string, int> methods;
  for (const auto& [seq, row] : rows) ++methods[row.method];
  EXPECT_EQ(store->list_waiting(workspace, {}, 1'000'000, at(0)).size(),
            static_cast<std::size_t>(methods["chat_upload_receive"] - methods["chat_upload_acked"]));
}

}  // namespace
}  // namespace restante::testing
