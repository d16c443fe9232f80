// Killed: a piece of work in a child process that dies by SIGKILL, once it has told so much, or as it is about to run
// its n-th statement on a database, whichever of its threads that is. What it has sent to PostgreSQL by then is on its
// way; what SQLite has written is written. For tests/conformance only.
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

// Opens a store by `open` and does `work` with it; statements count from the moment it is open. The parent must hold no
// store on the data meanwhile.
KillOutcome kill_at_statement(int number, const std::function<std::unique_ptr<Store>()>& open,
                              const std::function<void(Store&)>& work);

// `body` writes a Told to the pipe for each thing it was answered; everything it told, up to and after the kill.
template <class Told>
std::vector<Told> run_and_kill(const std::function<void(int pipe)>& body, std::size_t kill_after) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(4);
  }
  close(ends[1]);
  std::vector<Told> told;
  Told one{};
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

}  // namespace restante::testing
