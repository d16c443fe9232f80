#include "agent/state.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/home.h"
#include "agent/test_folder.h"

namespace restante::agent {
namespace {

FileRecord record(int n) {
  FileRecord file;
  file.parcel = {FileId::make(Time{}), "name.txt", 42, std::string(64, 'a')};
  file.uri = "platform-pending:w/" + std::to_string(n);
  file.row_id = "row " + std::to_string(n);
  file.seq = n;
  file.created_at = "2026-11-15T03:28:00.000000Z";
  return file;
}

State sample() {
  State state;
  state.server = "https://example.com";
  state.workspace = "w";
  state.enrolled = "e";
  state.cursor = 9'007'199'254'740'993;
  state.files = {record(1), record(2)};
  state.files[1].where = FileRecord::Where::landed;
  state.files[1].path = "/dir with \"quotes\"/\xc3\xa9";
  state.files[1].acked = true;
  state.outbox = {{"reply-1", "line\nline"}};
  state.recent = {"a", "b"};
  return state;
}

TEST(State, EverythingSurvivesBeingWrittenAndRead) {
  const auto state = sample();
  const auto again = State::parse(state.dump());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->dump(), state.dump());
  EXPECT_EQ(again->cursor, state.cursor);
  EXPECT_EQ(again->files[1].path, state.files[1].path);
  EXPECT_EQ(again->files[1].where, FileRecord::Where::landed);
  EXPECT_TRUE(again->files[1].acked);
  EXPECT_FALSE(again->files[1].handed_over);
  EXPECT_EQ(again->outbox[0].text, "line\nline");
}

TEST(State, WhatIsNoStateIsNotTakenForAnEmptyOne) {
  for (const char* text : {"", "{}", "[]", "{\"version\":2}", "{\"version\":1,\"files\":[{}]}"})
    EXPECT_FALSE(State::parse(text)) << text;
  const auto text = sample().dump();
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) EXPECT_FALSE(State::parse(text.substr(0, cut))) << cut;
}

TEST(State, OnlyFinishedFilesAreForgotten) {
  State state;
  for (int n = 0; n < 2100; ++n) {
    state.files.push_back(record(n));
    auto& file = state.files.back();
    if (n >= 50) file.where = FileRecord::Where::landed, file.acked = file.handed_over = true;
  }
  state.trim();
  EXPECT_EQ(state.files.size(), 2000u);
  for (int n = 0; n < 50; ++n) EXPECT_TRUE(state.find("platform-pending:w/" + std::to_string(n)));
  EXPECT_FALSE(state.find("platform-pending:w/50"));
  EXPECT_TRUE(state.find("platform-pending:w/2099"));
}

TEST(Home, KeepsTokenAndStateForTheOwnerAlone) {
  const TestFolder folder;
  const auto home = Home::open(folder.path() / "state").value();
  EXPECT_EQ(home.token().value(), "");
  ASSERT_TRUE(home.keep_token("secret").has_value());
  const auto state = sample();
  ASSERT_TRUE(home.save(state).has_value());
  EXPECT_EQ(home.token().value(), "secret");
  EXPECT_EQ(home.load().value().dump(), state.dump());
  for (const char* name : {"", "token", "state.json", "lock"}) {
    struct stat there{};
    ASSERT_EQ(stat((folder.path() / "state" / name).c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 0077, 0u) << name;
  }
}

TEST(Home, ADamagedStateIsNamedAndKept) {
  const TestFolder folder;
  const auto home = Home::open(folder.path()).value();
  TestFolder::write(folder.path() / "state.json", "{\"version\":1,");
  const auto loaded = home.load();
  ASSERT_TRUE(loaded.has_error());
  EXPECT_NE(loaded.error().sentence.find("state.json"), std::string::npos);
  EXPECT_EQ(TestFolder::read(folder.path() / "state.json"), "{\"version\":1,");
}

TEST(Home, ASecondAgentIsToldWhoIsThere) {
  const TestFolder folder;
  {
    const auto home = Home::open(folder.path()).value();
    const auto second = Home::open(folder.path());
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().error, EWOULDBLOCK);
    EXPECT_NE(second.error().sentence.find("process " + std::to_string(getpid())), std::string::npos)
        << second.error().sentence;
    EXPECT_NE(second.error().sentence.find("since 2"), std::string::npos);
  }
  EXPECT_TRUE(Home::open(folder.path()).has_value());
}

// The child saves one state after another as fast as it can; it is killed at a moment nobody chose.
TEST(Home, AKillAtAnyMomentLeavesAWholeState) {
  const TestFolder folder;
  for (int round = 0; round < 20; ++round) {
    int progress[2];
    ASSERT_EQ(pipe(progress), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto home = Home::open(folder.path());
      auto state = home.has_value() ? home->load() : Tried<State>(home.error());
      if (state.has_error()) _exit(1);
      for (;;) {
        ++state->cursor;
        state->files.push_back(record(static_cast<int>(state->cursor)));
        if (state->files.size() > 40) state->files.pop_front();
        if (home->save(*state).has_error() || write(progress[1], "x", 1) != 1) _exit(1);
      }
    }
    close(progress[1]);
    char saved[7];
    std::size_t seen = 0;
    while (seen < sizeof saved) {
      const auto bytes = read(progress[0], saved, sizeof saved - seen);
      ASSERT_GT(bytes, 0) << "the child could not save";
      seen += static_cast<std::size_t>(bytes);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(progress[0]);
    const auto state = Home::open(folder.path()).value().load();
    ASSERT_TRUE(state.has_value()) << state.error().sentence;
    EXPECT_GE(state->cursor, (round + 1) * 7) << "what was saved is there";
    ASSERT_FALSE(state->files.empty());
    EXPECT_EQ(state->files.back().seq, state->cursor) << "the cursor and what it passed are one";
  }
}

}  // namespace
}  // namespace restante::agent
