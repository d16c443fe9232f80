#include "agent/state.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <fmt/format.h>

#include "agent/ledger.h"
#include "agent/state_directory.h"
#include "base/test_folder.h"

namespace restante::agent {
namespace {

FileId file_id(int n) { return FileId::parse(fmt::format("00000000-0000-7000-8000-{:012x}", n)).value(); }

FileRecord record(int n) {
  FileRecord file;
  file.announced = {file_id(n), "name.txt", 42, std::string(64, 'a')};
  file.uri = "platform-pending:w/" + file_id(n).text();
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
  state.cursor_row = "row 2";
  state.started = true;
  state.begun = {"row 3", "row 4"};
  state.files = {record(1), record(2)};
  state.files[1].where = FileRecord::Where::landed;
  state.files[1].path = "/dir with \"quotes\"/\xc3\xa9";
  state.files[1].acked = true;
  state.outbox = {{"reply-1", "line\nline", Reply::To::agent, "peer", 3, false}};
  state.recent = {{"a", "2026"}, {"b", "2027"}};
  return state;
}

bool changed(State& state, const std::string& line) { return state.apply(parse_json(line).value()); }

TEST(State, EverythingSurvivesBeingWrittenAndRead) {
  const auto state = sample();
  const auto again = State::parse(state.dump());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->dump(), state.dump());
  EXPECT_EQ(again->cursor, state.cursor);
  EXPECT_EQ(again->cursor_row, "row 2");
  EXPECT_EQ(again->files[1].path, state.files[1].path);
  EXPECT_EQ(again->files[1].where, FileRecord::Where::landed);
  EXPECT_TRUE(again->files[1].acked);
  EXPECT_FALSE(again->files[1].handed_over);
  EXPECT_EQ(again->outbox[0].text, "line\nline");
  EXPECT_EQ(again->outbox[0].to, Reply::To::agent);
  EXPECT_EQ(again->outbox[0].hops, 3);
  EXPECT_TRUE(again->has_begun("row 3") && again->has_begun("row 4"));
}

TEST(State, ACursorNamesItsRowAndOneOfAnEarlierVersionNamesNone) {
  State state;
  ASSERT_TRUE(changed(state, change::cursor(5, "row 5")));
  EXPECT_EQ(state.cursor, 5);
  EXPECT_EQ(state.cursor_row, "row 5");
  ASSERT_TRUE(changed(state, R"({"cursor":6})"));
  EXPECT_EQ(state.cursor, 6);
  EXPECT_EQ(state.cursor_row, "") << "never the row of another number";
}

TEST(State, ATextThatIsNoStateIsNotReadAsAnEmptyOne) {
  for (const char* text :
       {"", "{}", "[]", "{\"version\":3}", "{\"version\":2,\"files\":[{}]}", "{\"version\":2,\"recent\":[1]}"})
    EXPECT_FALSE(State::parse(text)) << text;
  const auto text = sample().dump();
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) EXPECT_FALSE(State::parse(text.substr(0, cut))) << cut;
}

TEST(State, TheFirstVersionIsStillRead) {
  const auto state = State::parse(R"({"version":1,"server":"s","workspace":"w","cursor":7,"files":[],"outbox":[)"
                                  R"({"key":"k","text":"t"}],"recent":["a"]})");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->cursor, 7);
  EXPECT_TRUE(state->started);
  EXPECT_TRUE(state->has_seen("a", "2026"));
  EXPECT_EQ(state->outbox[0].to, Reply::To::person);
}

TEST(State, TheEndOfADeliveryIsOneLineWithItsFilesReplyAndId) {
  State state;
  EXPECT_TRUE(changed(state, change::announced(record(1))));
  EXPECT_TRUE(changed(state, change::announced(record(2))));
  EXPECT_TRUE(changed(state, change::begun("m")));
  EXPECT_TRUE(changed(state, change::begun("other")));
  EXPECT_TRUE(state.has_begun("m"));
  EXPECT_TRUE(changed(
      state, change::delivery_ended({"m", "2026", {file_id(1)}, {file_id(2)}, Reply{"k", "t", {}, {}, 0, false}})));
  EXPECT_FALSE(state.has_begun("m"));
  EXPECT_TRUE(state.has_begun("other"));
  EXPECT_TRUE(state.has_seen("m", "2026"));
  EXPECT_TRUE(state.find(file_id(1))->handed_over);
  EXPECT_FALSE(state.find(file_id(1))->notified);
  EXPECT_TRUE(state.find(file_id(2))->notified);
  ASSERT_EQ(state.outbox.size(), 1u);
  EXPECT_TRUE(changed(state, change::sent("k")));
  EXPECT_TRUE(state.outbox.empty());
}

TEST(State, AnUpdateOfADownloadDoesNotUndoAHandOver) {
  State state;
  auto file = record(1);
  EXPECT_TRUE(changed(state, change::announced(file)));
  EXPECT_TRUE(changed(state, change::delivery_ended({"m", "2026", {file_id(1)}, {}, {}})));
  file.where = FileRecord::Where::landed;
  file.path = "/p";
  file.acked = true;
  EXPECT_TRUE(changed(state, change::file_updated(file)));
  EXPECT_TRUE(state.find(file_id(1))->handed_over);
  EXPECT_TRUE(state.find(file_id(1))->acked);
  EXPECT_EQ(state.find(file_id(1))->path, "/p");
}

TEST(State, TheOriginOfADeliveryIsKnownUntilItIsAnswered) {
  State state;
  change::DeliveryEnd task{"t", "2026", {}, {}, {}};
  task.origin = Origin{"t", "2026", "peer", "d1", 2};
  EXPECT_TRUE(changed(state, change::delivery_ended(task)));
  EXPECT_TRUE(changed(state, change::delivery_ended({"m", "2026", {}, {}, {}})));
  const auto again = State::parse(state.dump()).value();
  EXPECT_EQ(again.origin_of("t")->delegation_id, "d1");
  EXPECT_EQ(again.origin_of("t")->source_id, "peer");
  EXPECT_EQ(again.origin_of("t")->hops, 2);
  EXPECT_EQ(again.origin_of("m")->source_id, "") << "a person";
  EXPECT_FALSE(again.origin_of("unknown"));
  Reply reply{"k", "text", Reply::To::agent, "peer", 1, false, {}, "row"};
  EXPECT_TRUE(changed(state, change::replied(reply, "2026")));
  EXPECT_EQ(state.outbox.at(0).row, "row");
  EXPECT_EQ(state.answered.size(), 1u);
}

TEST(State, AnUnknownLineIsRefused) {
  State state;
  for (const char* line : {"{}", "[]", "1", R"({"cursor":"x"})", R"({"file":{}})", R"({"came":{}})"})
    EXPECT_FALSE(changed(state, line)) << line;
  EXPECT_EQ(state.dump(), State().dump());
}

TEST(State, OnlyFinishedFilesAreDropped) {
  State state;
  for (int n = 0; n < 10'100; ++n) {
    state.files.push_back(record(n));
    auto& file = state.files.back();
    if (n >= 50) file.where = FileRecord::Where::landed, file.acked = file.handed_over = true;
  }
  EXPECT_TRUE(changed(state, change::announced(record(10'100))));
  EXPECT_EQ(state.files.size(), 10'000u);
  for (int n = 0; n < 50; ++n) EXPECT_TRUE(state.find(file_id(n)));
  EXPECT_FALSE(state.find(file_id(50)));
  EXPECT_TRUE(state.find(file_id(10'099)));
}

TEST(State, RowsOlderThanAllRecentOnesCountAsSeen) {
  State state;
  for (int n = 0; n < 2'100; ++n)
    EXPECT_TRUE(
        changed(state, change::delivery_ended({fmt::format("row {}", n), fmt::format("t{:05}", n), {}, {}, {}})));
  EXPECT_TRUE(state.has_seen("row 5", "t00005"));
  EXPECT_TRUE(state.has_seen("row 2099", "t02099"));
  EXPECT_FALSE(state.has_seen("new", "t02100"));
  EXPECT_FALSE(state.has_seen("unseen", "t01000"));
}

TEST(State, APendingUriIsKnownInAnyLetterCase) {
  const auto id = file_id(0xabc);
  EXPECT_EQ(pending_file("platform-pending:W/" + id.text()), id);
  EXPECT_EQ(pending_file("platform-pending:W/00000000-0000-7000-8000-000000000ABC"), id);
  for (const char* other : {"", "platform-pending:", "platform-pending:w/", "platform-pending:w/x", "https://e/x"})
    EXPECT_FALSE(pending_file(other)) << other;
}

TEST(StateDirectory, KeepsTokenAndStateForTheOwnerAlone) {
  const TestFolder folder;
  auto directory = StateDirectory::open(folder.path() / "state").value();
  EXPECT_EQ(directory.token().value(), "");
  ASSERT_TRUE(directory.keep_token("secret").has_value());
  const auto state = sample();
  ASSERT_TRUE(directory.save(state).has_value());
  EXPECT_EQ(directory.token().value(), "secret");
  EXPECT_EQ(directory.load().value().dump(), state.dump());
  for (const char* name : {"", "token", "state.json", "lock"}) {
    struct stat there{};
    ASSERT_EQ(stat((folder.path() / "state" / name).c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 0077, 0u) << name;
  }
}

TEST(StateDirectory, ADamagedStateIsNamedAndKept) {
  const TestFolder folder;
  auto directory = StateDirectory::open(folder.path()).value();
  TestFolder::write(folder.path() / "state.json", "{\"version\":1,");
  const auto loaded = directory.load();
  ASSERT_TRUE(loaded.has_error());
  EXPECT_NE(loaded.error().sentence.find("state.json"), std::string::npos);
  EXPECT_EQ(TestFolder::read(folder.path() / "state.json"), "{\"version\":1,");
}

TEST(StateDirectory, ASecondAgentGetsAnErrorThatNamesTheFirst) {
  const TestFolder folder;
  {
    const auto directory = StateDirectory::open(folder.path()).value();
    const auto second = StateDirectory::open(folder.path());
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().error, EWOULDBLOCK);
    EXPECT_NE(second.error().sentence.find("process " + std::to_string(getpid())), std::string::npos)
        << second.error().sentence;
    EXPECT_NE(second.error().sentence.find("since 2"), std::string::npos);
  }
  EXPECT_TRUE(StateDirectory::open(folder.path()).has_value());
}

TEST(StateDirectory, TheJournalIsReplayedOverItsSnapshotAndNoOther) {
  const TestFolder folder;
  auto directory = StateDirectory::open(folder.path()).value();
  State state;
  ASSERT_TRUE(directory.save(state).has_value());
  ASSERT_TRUE(directory.append(change::cursor(5)).has_value());
  EXPECT_EQ(directory.load().value().cursor, 5);
  const auto old = TestFolder::read(folder.path() / "journal");
  state.cursor = 7;
  state.started = true;
  ASSERT_TRUE(directory.save(state).has_value());
  // As after a kill between the two writes.
  TestFolder::write(folder.path() / "journal", old);
  EXPECT_EQ(directory.load().value().cursor, 7);
}

TEST(StateDirectory, ALineCutOffByAKillIsIgnored) {
  const TestFolder folder;
  auto directory = StateDirectory::open(folder.path()).value();
  ASSERT_TRUE(directory.save(State()).has_value());
  ASSERT_TRUE(directory.append(change::cursor(5)).has_value());
  const auto whole = TestFolder::read(folder.path() / "journal");
  const auto line = change::announced(record(1)) + "\n";
  for (std::size_t cut = 0; cut < line.size(); ++cut) {
    TestFolder::write(folder.path() / "journal", whole + line.substr(0, cut));
    const auto state = directory.load().value();
    EXPECT_EQ(state.cursor, 5);
    EXPECT_TRUE(state.files.empty());
  }
}

TEST(StateDirectory, CanBeInspectedWhileAnAgentUsesIt) {
  const TestFolder folder;
  EXPECT_TRUE(inspect_state((folder.path() / "none").string()).has_error());
  {
    auto directory = StateDirectory::open(folder.path()).value();
    ASSERT_TRUE(directory.save(sample()).has_value());
    ASSERT_TRUE(directory.append(change::cursor(11)).has_value());
    directory.write_health("{}");
    const auto state_view = inspect_state(folder.path().string()).value();
    EXPECT_TRUE(state_view.in_use);
    EXPECT_NE(state_view.holder.find("process " + std::to_string(getpid())), std::string::npos);
    EXPECT_EQ(state_view.health, "{}");
    ASSERT_TRUE(state_view.state);
    EXPECT_EQ(state_view.state->cursor, 11);
    EXPECT_FALSE(state_view.token);
  }
  EXPECT_FALSE(inspect_state(folder.path().string()).value().in_use);
}

// The child writes one change after another as fast as it can; it is killed at a random moment.
TEST(Ledger, AKillAtAnyMomentLeavesTheCursorAndTheRowsBeforeItTogether) {
  const TestFolder folder;
  for (int round = 0; round < 20; ++round) {
    int progress[2];
    ASSERT_EQ(pipe(progress), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto directory = StateDirectory::open(folder.path());
      auto state = directory.has_value() ? directory->load() : DiskResult<State>(directory.error());
      if (state.has_error()) _exit(1);
      Ledger ledger(std::move(*directory), std::move(*state), [](std::string_view) { _exit(1); });
      for (;;) {
        const auto next = ledger.cursor() + 1;
        ledger.announce(record(static_cast<int>(next)));
        ledger.set_cursor(next);
        if (write(progress[1], "x", 1) != 1) _exit(1);
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
    const auto state = StateDirectory::open(folder.path()).value().load();
    ASSERT_TRUE(state.has_value()) << state.error().sentence;
    EXPECT_GE(state->cursor, (round + 1) * 7) << "every reported cursor was saved";
    EXPECT_TRUE(state->find(file_id(static_cast<int>(state->cursor)))) << "the cursor was saved with the row before it";
  }
}

TEST(Ledger, ALongJournalBecomesASnapshot) {
  const TestFolder folder;
  auto directory = StateDirectory::open(folder.path()).value();
  auto state = directory.load().value();
  Ledger ledger(std::move(directory), std::move(state), [](std::string_view) { FAIL(); });
  const std::string text(100'000, 'x');
  for (int n = 0; n < 100; ++n) {
    ledger.end_delivery({std::to_string(n), "2026", {}, {}, Reply{std::to_string(n), text, {}, {}, 0, false}});
    ledger.sent(std::to_string(n));
  }
  EXPECT_LT(std::filesystem::file_size(folder.path() / "journal"), 5u << 20);
  EXPECT_EQ(ledger.state().recent.size(), 100u);
  EXPECT_EQ(inspect_state(folder.path().string()).value().holder.empty(), false);
}

TEST(Ledger, ADiskThatFailsDoesNotStopDeliveriesAndIsPrintedOnce) {
  const TestFolder folder;
  auto directory = StateDirectory::open(folder.path() / "state").value();
  auto state = directory.load().value();
  std::vector<std::string> printed;
  Ledger ledger(std::move(directory), std::move(state), [&](std::string_view text) { printed.emplace_back(text); });
  ledger.set_identity("s", "w", "");
  // state.json becomes a folder that is not empty, so it cannot be replaced. The replies make the journal so long that
  // a new snapshot is due.
  std::filesystem::rename(folder.path() / "state", folder.path() / "away");
  std::filesystem::remove(folder.path() / "away" / "state.json");
  std::filesystem::create_directories(folder.path() / "away" / "state.json" / "x");
  const std::string large(5 << 20, 'x');
  for (int n = 0; n < 3; ++n)
    ledger.end_delivery({std::to_string(n), "2026", {}, {}, Reply{std::to_string(n), large, {}, {}, 0, false}});
  ASSERT_EQ(printed.size(), 1u);
  EXPECT_EQ(printed[0].rfind("the state cannot be kept", 0), 0u) << printed[0];
  EXPECT_EQ(ledger.state().outbox.size(), 3u);
  std::filesystem::remove_all(folder.path() / "away" / "state.json");
  ledger.sent("0");
  ASSERT_EQ(printed.size(), 2u);
  EXPECT_EQ(inspect_state((folder.path() / "away").string()).value().state->outbox.size(), 2u);
}

TEST(Ledger, ADeliveryThatWasBegunAndNotEndedBeginsAgain) {
  const TestFolder folder;
  {
    auto directory = StateDirectory::open(folder.path()).value();
    auto state = directory.load().value();
    Ledger ledger(std::move(directory), std::move(state), [](std::string_view) {});
    EXPECT_EQ(ledger.begin("one"), Ledger::Begun::first_time);
    ledger.end_delivery({"one", "2026", {}, {}, {}});
    EXPECT_EQ(ledger.begin("two"), Ledger::Begun::first_time);
  }
  auto directory = StateDirectory::open(folder.path()).value();
  auto state = directory.load().value();
  Ledger ledger(std::move(directory), std::move(state), [](std::string_view) {});
  EXPECT_EQ(ledger.begin("two"), Ledger::Begun::again);
}

}  // namespace
}  // namespace restante::agent
