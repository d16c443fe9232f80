#include "store/move.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>

namespace restante {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const MoveTable kTable{"notes", {{"at", ColumnKind::time}, {"id", ColumnKind::bytes}, {"text", ColumnKind::text}}};

const std::string kInstallation(kInstallationTable);
const std::vector<MoveRow> kId{MoveRow{MoveBytes{"the id"}}};

MoveRow note(std::int64_t at, const std::string& id, const std::string& text) { return {at, MoveBytes{id}, text}; }

Digest digest_of(const std::vector<MoveRow>& rows, const MoveTable& table = kTable) {
  RowsDigest digest(table);
  for (const MoveRow& row : rows) digest.add(row);
  return digest.digest();
}

TEST(RowsDigest, TheOrderOfRowsDoesNotMatterAndEverythingElseDoes) {
  const auto a = note(1, "a", "x"), b = note(2, "b", "y");
  EXPECT_EQ(digest_of({a, b}), digest_of({b, a}));
  EXPECT_NE(digest_of({a, b}), digest_of({a}));
  EXPECT_NE(digest_of({a, a}), digest_of({b, b}));
  EXPECT_NE(digest_of({a, b}), digest_of({note(1, "a", "y"), note(2, "b", "x")})) << "values that changed places";
  EXPECT_NE(digest_of({note(1, "a", "")}), digest_of({{std::int64_t{1}, MoveBytes{"a"}, std::monostate()}}));
  EXPECT_NE(digest_of({note(1, "ab", "c")}), digest_of({note(1, "a", "bc")})) << "a border that moved";
  EXPECT_NE(digest_of({{std::int64_t{1}, MoveBytes{"a"}, std::string("x")}}),
            digest_of({{std::int64_t{1}, std::string("a"), std::string("x")}}))
      << "text is not bytes";
}

TEST(RowsDigest, TimesThatNoDatabaseCanStoreAllCountAsNever) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(digest_of({note(kMost, "a", "")}), digest_of({note(kMost - 5, "a", "")}));
  EXPECT_EQ(digest_of({note(kLeast, "a", "")}), digest_of({note(kLeast + 5, "a", "")}));
  EXPECT_NE(digest_of({note(1, "a", "")}), digest_of({note(2, "a", "")}));
  MoveTable numbers = kTable;
  numbers.columns[0].kind = ColumnKind::integer;
  EXPECT_NE(digest_of({note(kMost, "a", "")}, numbers), digest_of({note(kMost - 5, "a", "")}, numbers));
}

// A database in memory that fails after `steps_left` changes.
class MemoryDatabase final : public MoveDatabase {
 public:
  explicit MemoryDatabase(std::vector<MoveTable> tables) : tables_(std::move(tables)) {}

  std::vector<MoveTable> tables() override { return prepared ? tables_ : std::vector<MoveTable>(); }
  std::vector<std::string> excluded_tables() override { return {}; }
  std::int64_t count(const MoveTable& table) override { return std::ssize(rows[table.name]); }
  void each_row(const MoveTable& table, const std::function<void(MoveRow&&)>& visit) override {
    for (MoveRow row : rows[table.name]) visit(std::move(row));
  }
  std::optional<std::string> marker() override { return mark; }
  void prepare() override { prepared = true; }
  void begin(const std::string& name) override {
    fail_or_go_on();
    mark = name;
    for (const auto table : kTablesFilledAtStart) rows[std::string(table)].clear();
  }
  void put(const MoveTable& table, std::span<const MoveRow> more) override {
    fail_or_go_on();
    auto& all = rows[table.name];
    all.insert(all.end(), more.begin(), more.end());
    if (spoil) all.back().back() = std::string("spoilt");
  }
  void release_ownership() override {
    fail_or_go_on();
    rows[kInstallation].clear();
  }
  void finish() override {
    fail_or_go_on();
    mark.reset();
  }

  std::map<std::string, std::vector<MoveRow>> rows;
  std::optional<std::string> mark;
  bool prepared = false;
  bool spoil = false;
  int steps_left = 1'000'000;

 private:
  void fail_or_go_on() {
    if (--steps_left < 0) throw std::runtime_error("power failure");
  }
  std::vector<MoveTable> tables_;
};

class NoProgress final : public MoveWatcher {
 public:
  void begin(MoveStep, std::int64_t, std::int64_t) override {}
  void add(std::int64_t) override {}
};

class Move : public ::testing::Test {
 protected:
  Move() : from(tables()), to(from) {
    from.prepared = true;
    from.rows[kInstallation] = kId;
    for (int i = 0; i < 1700; ++i) from.rows["notes"].push_back(note(i, std::to_string(i), "text"));
    for (int i = 0; i < 3; ++i) from.rows["words"].push_back({std::string(3 << 20, 'x')});
  }

  static std::vector<MoveTable> tables() {
    return {kTable, {kInstallation, {{"office", ColumnKind::bytes}}}, {"words", {{"text", ColumnKind::text}}}};
  }
  // All rows are in the target, and of the two only the target has the id.
  void expect_moved(MemoryDatabase& target) {
    EXPECT_TRUE(from.rows[kInstallation].empty());
    EXPECT_EQ(target.rows[kInstallation], kId);
    for (const char* table : {"notes", "words"}) EXPECT_EQ(target.rows[table], from.rows[table]);
    EXPECT_FALSE(target.mark);
  }

  MemoryDatabase from, to;
  NoProgress no_progress;
};

TEST_F(Move, CopiesEverythingAndDeletesTheMarker) {
  const Moved moved = move_database(from, to, no_progress);
  EXPECT_TRUE(moved.same());
  EXPECT_EQ(rows_of(moved.to), 1703);
  EXPECT_EQ(moved.from.size(), 2u) << "the installation's id is not compared";
  expect_moved(to);
}

TEST_F(Move, TheTargetIsFinishedOnlyOnceTheSourceHasLostTheInstallationsId) {
  from.steps_left = 0;
  EXPECT_THROW(move_database(from, to, no_progress), std::runtime_error);
  EXPECT_EQ(from.rows[kInstallation], kId);
  EXPECT_TRUE(to.mark) << "no server starts on it";
  from.steps_left = 1'000'000;
  to.steps_left = 0;
  EXPECT_THROW(move_database(from, to, no_progress), std::runtime_error);
  EXPECT_TRUE(from.rows[kInstallation].empty());
  EXPECT_EQ(to.rows[kInstallation], kId);
  EXPECT_TRUE(to.mark);
  to.steps_left = 1'000'000;
  const Moved moved = move_database(from, to, no_progress);
  EXPECT_TRUE(moved.same()) << "that the source has lost it is not compared";
  EXPECT_EQ(moved.resumed_at, 1703);
  expect_moved(to);
}

TEST_F(Move, AnIdThatTheSourceGotAfterItLostItsOwnIsNotMoved) {
  to.steps_left = 8;  // the beginning, four pieces of notes, two of words, the id
  EXPECT_THROW(move_database(from, to, no_progress), std::runtime_error);
  ASSERT_TRUE(from.rows[kInstallation].empty());
  ASSERT_EQ(to.rows[kInstallation], kId);
  to.steps_left = 1'000'000;
  from.rows[kInstallation] = {MoveRow{MoveBytes{"of a server that was started since"}}};
  EXPECT_TRUE(move_database(from, to, no_progress).same());
  expect_moved(to);
}

TEST_F(Move, ASourceOnWhichNoServerHasStartedHasNoIdToMove) {
  from.rows[kInstallation].clear();
  EXPECT_TRUE(move_database(from, to, no_progress).same());
  EXPECT_TRUE(to.rows[kInstallation].empty());
}

TEST_F(Move, ATargetOnWhichAServerHasOnlyStartedCountsAsEmpty) {
  to.prepared = true;
  to.rows[kInstallation] = {MoveRow{MoveBytes{"its own"}}};
  EXPECT_EQ(state_of(to), TargetState::empty);
  EXPECT_TRUE(move_database(from, to, no_progress).same());
  expect_moved(to);
}

TEST_F(Move, PlanningAndComparingChangeNothing) {
  from.steps_left = 0;
  EXPECT_NO_THROW(plan_move(from, to, no_progress));
  to.prepared = true;
  EXPECT_FALSE(compare_databases(from, to, no_progress).same());
  EXPECT_EQ(plan_move(from, to, no_progress).from.size(), 2u) << "the installation's id is not listed";
  EXPECT_EQ(from.rows[kInstallation], kId);
}

TEST_F(Move, WhereverItIsInterruptedItContinuesWithoutLosingOrDoublingARow) {
  int interruptions = 0;
  for (int steps = 0;; ++steps) {
    MemoryDatabase target(tables());
    from.rows[kInstallation] = kId;
    target.steps_left = steps;
    try {
      move_database(from, target, no_progress);
      break;
    } catch (const std::runtime_error&) {
      ++interruptions;
    }
    target.steps_left = 1'000'000;
    ASSERT_TRUE(move_database(from, target, no_progress).same()) << steps;
    expect_moved(target);
    ASSERT_FALSE(HasFailure()) << steps;
  }
  EXPECT_GE(interruptions, 9) << "the beginning, four pieces of notes, two of words, the installation's id, the end";
}

TEST_F(Move, ADifferenceIsFoundAndTheMarkerStays) {
  to.spoil = true;
  const Moved moved = move_database(from, to, no_progress);
  EXPECT_FALSE(moved.same());
  EXPECT_TRUE(to.mark);
  EXPECT_EQ(from.rows[kInstallation], kId) << "its server can run as before";
  EXPECT_TRUE(to.rows[kInstallation].empty());
}

TEST_F(Move, ATargetThatIsNotEmptyIsRefused) {
  to.prepared = true;
  to.rows["words"].push_back({std::string("ours")});
  EXPECT_THAT([&] { move_database(from, to, no_progress); }, ThrowsMessage<OpenRefused>(HasSubstr("not empty")));
  EXPECT_EQ(plan_move(from, to, no_progress).target, TargetState::not_empty);
}

TEST_F(Move, AnotherMovesTargetIsRefused) {
  to.steps_left = 2;
  EXPECT_THROW(move_database(from, to, no_progress), std::runtime_error);
  to.steps_left = 1'000'000;
  EXPECT_EQ(plan_move(from, to, no_progress).target, TargetState::moving);
  EXPECT_EQ(plan_move(from, to, no_progress).there, 500);
  from.rows["words"].pop_back();
  EXPECT_THAT([&] { move_database(from, to, no_progress); }, ThrowsMessage<OpenRefused>(HasSubstr("another move")));
  EXPECT_THAT([&] { plan_move(from, to, no_progress); }, ThrowsMessage<OpenRefused>(HasSubstr("has changed")));
}

TEST_F(Move, DatabasesWithDifferentTablesOrColumnsAreRefusedByName) {
  const auto refusal = [&](std::vector<MoveTable> tables) -> std::string {
    MemoryDatabase other(std::move(tables));
    try {
      move_database(from, other, no_progress);
    } catch (const OpenRefused& refused) {
      return refused.what();
    }
    return "";
  };
  const MoveTable words{"words", {{"text", ColumnKind::text}}};
  EXPECT_THAT(refusal({kTable}), HasSubstr("(words)"));
  EXPECT_THAT(refusal({kTable, words, {"zebras", {}}}), HasSubstr("(zebras)"));
  EXPECT_THAT(refusal({kTable, {"worlds", words.columns}}), HasSubstr("(words)"));
  EXPECT_THAT(refusal({kTable, {"words", {{"text", ColumnKind::bytes}}}}), HasSubstr("(words.text)"));
  EXPECT_THAT(refusal({kTable, {"words", {{"sound", ColumnKind::text}}}}), HasSubstr("(words.sound)"));
  EXPECT_THAT(refusal({kTable, {"words", {}}}), HasSubstr("(words)"));
  MoveTable words_for_times = kTable;
  words_for_times.columns[0].kind = ColumnKind::text;
  EXPECT_THAT(refusal({words_for_times, words}), HasSubstr("(notes.at)"));
  MoveTable numbers = kTable;
  numbers.columns[0].kind = ColumnKind::integer;
  EXPECT_EQ(refusal({numbers, words}), "") << "only one of the two need know which numbers are times";
}

TEST(MoveSource, AnotherSchemaIsRefusedWithWhatToDo) {
  const MigrationStatus applied{1, "one", Time(), true}, waiting{2, "two", {}, true}, newer{2, "two", Time(), false};
  EXPECT_FALSE(not_movable({applied}));
  EXPECT_THAT(not_movable({applied, waiting}).value(), HasSubstr("restante migrate up"));
  EXPECT_THAT(not_movable({applied, newer}).value(), HasSubstr("newer than this binary"));
}

}  // namespace
}  // namespace restante
