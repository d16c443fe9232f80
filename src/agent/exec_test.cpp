#include "agent/exec.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "agent/handover.h"
#include "agent/test_folder.h"

namespace restante::agent {
namespace {

class Exec : public testing::Test {
 protected:
  Exec() { signal(SIGPIPE, SIG_IGN); }
  Ran run_command(const std::string& command, const std::string& input, const Stop& stop) {
    return agent::run_command({command, runs(), "id " + std::to_string(++runs_), input}, stop);
  }
  std::string runs() const { return (folder_.path() / "runs").string(); }

  TestFolder folder_;
  Stop stop_;
  int runs_ = 0;
};

TEST_F(Exec, TheCommandGetsTheInputAndGivesItsOutput) {
  const auto ran = run_command("cat; exit 3", "hello", stop_);
  EXPECT_EQ(ran.how, Ran::How::exited);
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.output, "hello");
}

TEST_F(Exec, ALargeInputAndALargeOutputDoNotBlockEachOther) {
  const std::string input(1'000'000, 'x');
  const auto ran = run_command("cat", input, stop_);
  EXPECT_EQ(ran.how, Ran::How::exited);
  EXPECT_EQ(ran.output.size(), 256u * 1024);
  EXPECT_TRUE(ran.cut);
}

TEST_F(Exec, ACommandNeedNotReadItsInput) {
  const auto ran = run_command("exec true", std::string(1'000'000, 'x'), stop_);
  EXPECT_EQ(ran.how, Ran::How::exited);
  EXPECT_EQ(ran.code, 0);
}

TEST_F(Exec, AGrandchildThatKeepsThePipeOpenIsNotWaitedFor) {
  const auto ran = run_command("sleep 600 & echo $!", "", stop_);
  EXPECT_EQ(ran.how, Ran::How::exited);
  kill(static_cast<pid_t>(std::stol(ran.output)), SIGKILL);
}

TEST_F(Exec, ASignalThatEndsTheCommandIsTold) {
  const auto ran = run_command("kill -SEGV $$", "", stop_);
  EXPECT_EQ(ran.how, Ran::How::killed);
  EXPECT_EQ(ran.trouble, "the command was ended by signal " + std::to_string(SIGSEGV));
}

TEST_F(Exec, StoppingEndsTheCommandAndItsChildren) {
  const TestFolder folder;
  const auto fifo = folder.path() / "alive";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread stopper([&] {
    std::ifstream in(fifo);  // opens once the grandchild has opened the other end, ends when nobody holds it
    std::string line;
    std::getline(in, line);
    stop_.request();
    std::getline(in, line);
  });
  const auto ran =
      run_command("sh -c 'exec 3>\"" + fifo.string() + "\"; echo up >&3; exec sleep 600' & wait", "", stop_);
  EXPECT_EQ(ran.how, Ran::How::stopped);
  stopper.join();
}

TEST_F(Exec, ACommandThatEndsWellWhenToldToStopHasEndedWell) {
  const auto fifo = folder_.path() / "up";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread stopper([&] {
    std::ifstream in(fifo);
    std::string line;
    std::getline(in, line);
    stop_.request();
  });
  const auto ran = run_command(
      "trap 'echo saved; exit 0' TERM; echo up > '" + fifo.string() + "'; while :; do sleep 0.05; done", "", stop_);
  stopper.join();
  EXPECT_EQ(ran.how, Ran::How::exited);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output, "saved\n");
}

TEST_F(Exec, TheEndOfARunIsGivenAgainAndNothingRunsTwice) {
  const Job run{"echo ran >> '" + (folder_.path() / "log").string() + "'; cat", runs(), "the same", "in"};
  EXPECT_EQ(agent::run_command(run, stop_).output, "in");
  EXPECT_EQ(agent::run_command(run, stop_).output, "in");
  EXPECT_EQ(TestFolder::read(folder_.path() / "log"), "ran\n");
  forget_run(runs(), "the same");
  EXPECT_EQ(agent::run_command(run, stop_).output, "in");
  EXPECT_EQ(TestFolder::read(folder_.path() / "log"), "ran\nran\n");
}

// The agent that began it is killed while the command runs; the next one waits for that very run.
TEST_F(Exec, ARunOutlivesTheAgentThatBeganItAndIsNotBegunTwice) {
  const auto began = folder_.path() / "began", go = folder_.path() / "go";
  for (const auto& fifo : {began, go}) ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Job run{"echo up > '" + began.string() + "'; read x < '" + go.string() + "'; echo answer; echo ran >> '" +
                    (folder_.path() / "log").string() + "'",
                runs(), "long", ""};
  const pid_t first = fork();
  ASSERT_GE(first, 0);
  if (first == 0) {
    (void)agent::run_command(run, stop_);
    _exit(0);
  }
  std::string line;
  std::ifstream(began) >> line;
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  std::thread second([&] {
    const auto ran = agent::run_command(run, stop_);
    EXPECT_EQ(ran.how, Ran::How::exited);
    EXPECT_EQ(ran.output, "answer\n");
  });
  TestFolder::write(go, "now\n");
  second.join();
  EXPECT_EQ(TestFolder::read(folder_.path() / "log"), "ran\n");
}

TEST_F(Exec, ExitCodeZeroIsHandledAndStdoutIsTheReply) {
  Delivery delivery;
  delivery.type = "message";
  const auto good = hand_over_to("printf 'answer\\000\\n\\n'", runs(), stop_)->deliver(delivery);
  EXPECT_EQ(good.what, Verdict::What::handled);
  EXPECT_EQ(good.reply, "answer");
  delivery.id = "another";
  const auto bad = hand_over_to("echo half; exit 4", runs(), stop_)->deliver(delivery);
  EXPECT_EQ(bad.what, Verdict::What::failed);
  EXPECT_EQ(bad.reply, "");
  EXPECT_EQ(bad.trouble, "the command ended with exit code 4");
}

TEST_F(Exec, LinesThatNobodyReadsAreNotHandled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(hand_over_lines(ends[1], Lines::json)->deliver({}).what, Verdict::What::closed);
  close(ends[1]);
}

}  // namespace
}  // namespace restante::agent
