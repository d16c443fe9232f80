// Runs work in a child process that dies by SIGKILL: after it has reported so many answers, or before the n-th
// statement on a database, in whichever thread. What it has sent to PostgreSQL by then may still be executed; what
// SQLite has written is written. For tests/conformance only.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "store/store.h"

namespace restante::testing {

enum class KillOutcome { killed, finished, failed };

// Opens a store by `open` and does `work` with it; statements are counted from then on. The parent must not have a
// store open on the data meanwhile.
KillOutcome kill_at_statement(int number, const std::function<std::unique_ptr<Store>()>& open,
                              const std::function<void(Store&)>& work);

// `body` writes a Report to the pipe for each thing that was answered. Returns all of them, from before and after the
// kill.
template <class Report>
std::vector<Report> run_and_kill(const std::function<void(int pipe)>& body, std::size_t kill_after) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(4);
  }
  close(ends[1]);
  std::vector<Report> reports;
  Report one{};
  while (read(ends[0], &one, sizeof one) == sizeof one) {
    reports.push_back(one);
    if (reports.size() == kill_after) kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself: " << status;
  return reports;
}

}  // namespace restante::testing
