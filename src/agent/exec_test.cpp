#include "agent/exec.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "agent/files.h"
#include "agent/handover.h"
#include "agent/result_files.h"
#include "base/test_folder.h"

namespace restante::agent {
namespace {

class Exec : public testing::Test {
 protected:
  Exec() { signal(SIGPIPE, SIG_IGN); }
  CommandResult run_command(const std::string& command, const std::string& input, const Stop& stop) {
    return agent::run_command({command, runs(), "id " + std::to_string(++runs_), input}, stop, wanted_);
  }
  std::string runs() const { return (folder_.path() / "runs").string(); }
  // An agent begins the run and is killed once the command has written to the pipe `began`.
  void begin_and_kill_agent(const CommandRun& run, const std::filesystem::path& began) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      (void)agent::run_command(run, stop_, wanted_);
      _exit(0);
    }
    std::string line;
    std::ifstream(began) >> line;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }

  TestFolder folder_;
  Stop stop_;
  Stop wanted_;  // never given up
  int runs_ = 0;
};

TEST_F(Exec, TheCommandGetsTheInputAndGivesItsOutput) {
  const auto result = run_command("cat; exit 3", "hello", stop_);
  EXPECT_EQ(result.how, CommandResult::How::exited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.output, "hello");
}

TEST_F(Exec, ALargeInputAndALargeOutputDoNotBlockEachOther) {
  const std::string input(1'000'000, 'x');
  const auto result = run_command("cat", input, stop_);
  EXPECT_EQ(result.how, CommandResult::How::exited);
  EXPECT_EQ(result.output.size(), 256u * 1024);
  EXPECT_TRUE(result.cut);
}

TEST_F(Exec, ACommandNeedNotReadItsInput) {
  const auto result = run_command("exec true", std::string(1'000'000, 'x'), stop_);
  EXPECT_EQ(result.how, CommandResult::How::exited);
  EXPECT_EQ(result.code, 0);
}

TEST_F(Exec, AGrandchildThatKeepsThePipeOpenIsNotWaitedFor) {
  const auto result = run_command("sleep 600 & echo $!", "", stop_);
  EXPECT_EQ(result.how, CommandResult::How::exited);
  kill(static_cast<pid_t>(std::stol(result.output)), SIGKILL);
}

TEST_F(Exec, ASignalIsNamedOnlyWhenTheExitCodeMayComeFromOne) {
  const std::pair<const char*, std::string> ends[] = {
      {"kill -SEGV $$", "exit code 139 (as after SIGSEGV)"},
      {"sleep 600 & kill $!; wait $!", "exit code 143 (as after SIGTERM)"},
      {"exit 255", "exit code 255"},
      {"exit 128", "exit code 128"},
      {"exit 200", "exit code 200"}};
  for (const auto& [command, text] : ends) {
    const auto result = run_command(command, "", stop_);
    EXPECT_EQ(result.how, CommandResult::How::exited) << command;
    EXPECT_EQ(describe_code(result.code), text) << command;
  }
}

TEST_F(Exec, StoppingEndsTheCommandAndItsChildren) {
  const TestFolder folder;
  const auto fifo = folder.path() / "alive";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread stopper([&] {
    std::ifstream in(fifo);  // opens once the grandchild has opened the other end, ends when all have closed it
    std::string line;
    std::getline(in, line);
    stop_.request();
    std::getline(in, line);
  });
  const auto result =
      run_command("sh -c 'exec 3>\"" + fifo.string() + "\"; echo up >&3; exec sleep 600' & wait", "", stop_);
  EXPECT_EQ(result.how, CommandResult::How::stopped);
  stopper.join();
}

TEST_F(Exec, ACommandThatExitsWithZeroAfterSigtermCounts) {
  const auto fifo = folder_.path() / "up";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread stopper([&] {
    std::ifstream in(fifo);
    std::string line;
    std::getline(in, line);
    stop_.request();
  });
  const auto result = run_command(
      "trap 'echo saved; exit 0' TERM; echo up > '" + fifo.string() + "'; while :; do sleep 0.05; done", "", stop_);
  stopper.join();
  EXPECT_EQ(result.how, CommandResult::How::exited);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, "saved\n");
}

TEST_F(Exec, TheEndOfARunIsReturnedAgainAndNothingRunsTwice) {
  const CommandRun run{"echo ran >> '" + (folder_.path() / "log").string() + "'; cat", runs(), "the same", "in"};
  EXPECT_EQ(agent::run_command(run, stop_, wanted_).output, "in");
  EXPECT_EQ(agent::run_command(run, stop_, wanted_).output, "in");
  EXPECT_EQ(TestFolder::read(folder_.path() / "log"), "ran\n");
  forget_run(runs(), "the same");
  EXPECT_EQ(agent::run_command(run, stop_, wanted_).output, "in");
  EXPECT_EQ(TestFolder::read(folder_.path() / "log"), "ran\nran\n");
}

// The agent that began the run is killed while the command runs; the next one waits for the same run.
TEST_F(Exec, ARunOutlivesTheAgentThatBeganItAndIsNotBegunTwice) {
  const auto began = folder_.path() / "began", go = folder_.path() / "go";
  for (const auto& fifo : {began, go}) ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const CommandRun run{"echo up > '" + began.string() + "'; read x < '" + go.string() +
                           "'; echo answer; echo ran >> '" + (folder_.path() / "log").string() + "'",
                       runs(), "long", ""};
  ASSERT_NO_FATAL_FAILURE(begin_and_kill_agent(run, began));
  std::thread second([&] {
    const auto result = agent::run_command(run, stop_, wanted_);
    EXPECT_EQ(result.how, CommandResult::How::exited);
    EXPECT_EQ(result.output, "answer\n");
  });
  TestFolder::write(go, "now\n");
  second.join();
  EXPECT_EQ(TestFolder::read(folder_.path() / "log"), "ran\n");
}

TEST_F(Exec, ATaskThatIsGivenUpEndsItsCommandWithAllItsChildrenAndLeavesNoFiles) {
  const auto fifo = folder_.path() / "alive";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto handover =
      hand_over_to("sh -c 'exec 3>\"" + fifo.string() + "\"; echo up >&3; exec sleep 600' & wait", runs(), stop_);
  Delivery task;
  task.type = "message";
  task.id = "row";
  task.delegation_id = "d1";
  std::thread caller([&] {
    std::ifstream in(fifo);
    std::string line;
    std::getline(in, line);
    handover->give_up("another");
    handover->give_up("d1");
    std::getline(in, line);  // ends when all have closed the other end
  });
  const auto result = handover->deliver(task);
  caller.join();
  EXPECT_EQ(result.what, HandoverResult::What::dropped);
  EXPECT_EQ(result.trouble, "the command of task d1 was ended");
  EXPECT_TRUE(std::filesystem::is_empty(runs()));
  task.type = "result";  // of a task that this agent gave to another: cannot be given up
  handover->give_up("d1");
  EXPECT_EQ(hand_over_to("true", runs(), stop_)->deliver(task).what, HandoverResult::What::handled);
}

TEST_F(Exec, ARunOfAnEarlierAgentIsGivenUpToo) {
  const auto began = folder_.path() / "began";
  ASSERT_EQ(mkfifo(began.c_str(), 0600), 0);
  const CommandRun run{"echo up > '" + began.string() + "'; sleep 600", runs(), "long", ""};
  ASSERT_NO_FATAL_FAILURE(begin_and_kill_agent(run, began));
  Stop give_up;
  give_up.request();
  EXPECT_EQ(agent::run_command(run, stop_, give_up).how, CommandResult::How::given_up);
  EXPECT_TRUE(std::filesystem::is_empty(runs()));
}

TEST_F(Exec, NothingIsStartedForATaskThatIsSkipped) {
  const auto handover = hand_over_to("touch '" + (folder_.path() / "ran").string() + "'", runs(), stop_);
  Delivery task;
  task.type = "ended";
  task.id = "row";
  task.delegation_id = "d1";
  task.reason = "cancelled by caller";
  EXPECT_FALSE(handover->has_begun(task));
  const auto result = handover->skip_ended(task);
  EXPECT_EQ(result.what, HandoverResult::What::dropped);
  EXPECT_EQ(result.trouble, "task d1 is over and is not begun: cancelled by caller");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ran"));
  EXPECT_TRUE(std::filesystem::is_empty(runs()));
}

TEST_F(Exec, ACommandWithoutARecordedProcessIdDoesNotBlockForEver) {
  Delivery task;
  task.type = "ended";
  task.id = "row";
  task.delegation_id = "d1";
  std::filesystem::create_directory(runs());
  auto name = std::filesystem::path(result_folder(runs(), task.id)).replace_extension(".lock");
  // As the runner does on a disk that had no room for its process id.
  const Fd runner(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(flock(runner.get(), LOCK_EX), 0);
  const auto handover = hand_over_to("echo never", runs(), stop_);
  auto skipping = std::async(std::launch::async, [&] { return handover->skip_ended(task); });
  EXPECT_EQ(skipping.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  stop_.request();
  const auto result = skipping.get();
  EXPECT_EQ(result.what, HandoverResult::What::dropped);
  EXPECT_EQ(result.trouble, "the command of task d1: it cannot be ended, since its process id is not known");
}

TEST_F(Exec, TheOutputOfAnEarlierAgentsRunIsTheLateAnswerIfItExitedWithZero) {
  Delivery task;
  task.type = "ended";
  task.delegation_id = "d1";
  for (const auto& [command, what] :
       {std::pair("echo ten", HandoverResult::What::handled), std::pair("exit 4", HandoverResult::What::dropped)}) {
    task.id = command;
    (void)agent::run_command({command, runs(), task.id, ""}, stop_, wanted_);
    const auto handover = hand_over_to("echo never", runs(), stop_);
    EXPECT_TRUE(handover->has_begun(task));
    const auto result = handover->skip_ended(task);
    EXPECT_EQ(result.what, what) << command;
    EXPECT_EQ(result.reply, what == HandoverResult::What::handled ? "ten" : "");
  }
}

TEST_F(Exec, ATaskThatIsSkippedIsALineOfTypeEnded) {
  Delivery task;
  task.type = "ended";
  task.id = "row";
  task.created_at = "2026";
  task.source_id = "peer";
  task.delegation_id = "d1";
  task.status = "failed";
  task.reason = "cancelled by caller";
  task.text = "do it";
  EXPECT_EQ(readable(task), "2026 task d1 from agent peer is over before it was begun (cancelled by caller): do it");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(hand_over_lines(ends[1], LineFormat::json)->skip_ended(task).what, HandoverResult::What::handled);
  close(ends[1]);
  std::string line(4096, '\0');
  line.resize(static_cast<std::size_t>(read(ends[0], line.data(), line.size())));
  close(ends[0]);
  EXPECT_NE(line.find(R"("type":"ended")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("delegation_id":"d1","status":"failed","reason":"cancelled by caller")"), std::string::npos)
      << line;
}

TEST_F(Exec, RunsThatAKillHasLeftAreForgotten) {
  for (const auto* id : {"ended", "begun"}) {
    EXPECT_EQ(agent::run_command({"cat", runs(), id, id}, stop_, wanted_).output, id);
  }
  forget_other_runs(runs(), {"begun"});
  const CommandRun again{"echo again", runs(), "begun", ""}, fresh{"echo fresh", runs(), "ended", ""};
  EXPECT_EQ(agent::run_command(again, stop_, wanted_).output, "begun") << "its end is kept";
  EXPECT_EQ(agent::run_command(fresh, stop_, wanted_).output, "fresh\n");
  forget_other_runs(runs(), {});
  EXPECT_TRUE(std::filesystem::is_empty(runs()));
  forget_other_runs((folder_.path() / "none").string(), {});
}

TEST_F(Exec, ExitCodeZeroIsHandledAndStdoutIsTheReply) {
  Delivery delivery;
  delivery.type = "message";
  const auto good = hand_over_to("printf 'answer\\000\\n\\n'", runs(), stop_)->deliver(delivery);
  EXPECT_EQ(good.what, HandoverResult::What::handled);
  EXPECT_EQ(good.reply, "answer");
  delivery.id = "another";
  const auto bad = hand_over_to("echo half; exit 4", runs(), stop_)->deliver(delivery);
  EXPECT_EQ(bad.what, HandoverResult::What::failed);
  EXPECT_EQ(bad.reply, "");
  EXPECT_EQ(bad.trouble, "the command ended with exit code 4");
}

TEST_F(Exec, ACommandIsCheckedBeforeItRuns) {
  const auto script = folder_.path() / "answer.sh";
  std::ofstream(script) << "#!/bin/sh\n";
  EXPECT_EQ(check_command(script.string()), script.string() + " is not executable (chmod +x)");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (const std::string& good : {script.string() + " --now", std::string("cat | wc -l"), std::string("cd / && ls"),
                                  std::string("X=1 nothing-here"), std::string("'/my folder/x' y"),
                                  std::string("$HOME/x"), std::string("if true; then echo a; fi")})
    EXPECT_EQ(check_command(good), "") << good;
  EXPECT_EQ(check_command("no-such-command-here --now"), "there is no command no-such-command-here");
  EXPECT_EQ(check_command("./anser.sh"), "./anser.sh: No such file or directory");
  EXPECT_EQ(check_command(folder_.path().string()), folder_.path().string() + " is a folder");
  EXPECT_NE(check_command("echo 'half").find("cannot parse"), std::string::npos);
  EXPECT_EQ(check_command("  "), "it is empty");
}

TEST_F(Exec, ACommandThatCannotBeRunIsNotTheFaultOfTheDelivery) {
  Delivery delivery;
  delivery.type = "message";
  for (const char* command : {"/no/such/program", "exit 126"}) {
    delivery.id = command;
    EXPECT_EQ(hand_over_to(command, runs(), stop_)->deliver(delivery).what, HandoverResult::What::unusable) << command;
  }
}

TEST_F(Exec, TheLastLinesOfTheErrorsAreKept) {
  const auto result = run_command("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 1", "", stop_);
  EXPECT_EQ(result.errors.substr(0, 7), "line 3\n");
  EXPECT_TRUE(result.errors.ends_with("line 12"));
  EXPECT_EQ(run_command("echo fine", "", stop_).errors, "");
}

TEST_F(Exec, ACommandThatTakesTooLongIsEnded) {
  const auto result =
      agent::run_command({"sleep 600", runs(), "long", "", std::chrono::milliseconds(1'000), {}}, stop_, wanted_);
  EXPECT_EQ(result.how, CommandResult::How::killed);
  EXPECT_EQ(result.trouble, "the command took longer than 1 s and was ended");
}

TEST_F(Exec, OutputThatIsTooLongForTheResultIsAttachedAsAFileOnce) {
  Delivery task;
  task.type = "message";
  task.id = "long";
  task.delegation_id = "d1";
  const std::string command =
      "echo mine > \"$RESTANTE_RESULT_DIR/output.txt\"; head -c 300000 /dev/zero | tr '\\0' x; printf end";
  const auto handover = hand_over_to(command, runs(), stop_);
  for (int time = 0; time < 2; ++time) {  // the second as after a kill before its end was recorded
    const auto result = handover->deliver(task);
    EXPECT_TRUE(result.reply.ends_with("x\n[cut; all of it is in output-2.txt]"));
    const auto sent = find_result_files(result.files).files;
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(std::filesystem::path(sent[0].path).filename(), "output-2.txt");
    EXPECT_EQ(sent[0].size, 300'003u);
    EXPECT_EQ(sent[1].size, 5u) << "the command's own";
  }
  handover->ended(task);
  EXPECT_EQ(find_result_files(result_folder(runs(), "long")).files.size(), 2u) << "until they are sent";
  Delivery chat = task;
  chat.id = "chat";
  chat.delegation_id.clear();
  const auto answered = hand_over_to("head -c 300000 /dev/zero | tr '\\0' x", runs(), stop_)->deliver(chat);
  EXPECT_TRUE(answered.reply.ends_with("x\n[cut; all of it is in output.txt]")) << "in a chat as in a task";
  EXPECT_EQ(find_result_files(answered.files).files.at(0).size, 300'000u);
}

TEST_F(Exec, LinesWithoutAReaderAreNotHandled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto lines = hand_over_lines(ends[1], LineFormat::json);
  EXPECT_EQ(lines->deliver({}).what, HandoverResult::What::closed);
  EXPECT_FALSE(lines->returns_when_done());
  EXPECT_TRUE(hand_over_to("true", runs(), stop_)->returns_when_done());
  close(ends[1]);
}

}  // namespace
}  // namespace restante::agent
