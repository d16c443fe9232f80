// Which installation owns a directory of blobs, on every store: marking, taking over, refusing, and never touching
// files of another installation.
#include "store/owner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "backends.h"
#include "blobs_suite.h"
#include "store/blob_key.h"
#include "store/dir/blobs.h"
#include "store/migration.h"
#include "store/places.h"
#include "temporary_directory.h"

namespace restante::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kGrace = std::chrono::hours(1);

// A server's view of one directory.
struct Server {
  Server(Store& store, const std::filesystem::path& directory, bool alone, const Clock& clock, Log& log)
      : files(dir::open(directory, dir::TemporaryNames::unnamed_if_possible, clock)),
        owner(store, {{Place::dir, *files}}, clock, log, metrics, rules(alone)),
        places({{Place::dir, *files}}, {Place::dir, {}}, log, metrics, &owner) {
    owner.ensure_installation();
  }
  static OwnerRules rules(bool alone) {
    OwnerRules rules;
    rules.alone = alone;
    rules.grace = kGrace;
    return rules;
  }

  Metrics metrics{{"test", "test", "test"}};
  const std::unique_ptr<Blobs> files;
  Owner owner;
  Places places;
};

class OwnerTest : public StoreTest {
 protected:
  std::unique_ptr<Server> start(Store& on, const char* directory = "a", bool alone = false) {
    return std::make_unique<Server>(on, folder / directory, alone, clock, log);
  }
  std::filesystem::path mark_in(const char* directory) const { return folder / directory / kMarkName; }
  // A blob as an older version wrote it: without a mark.
  std::string write(const char* directory, const Clock& dated) {
    return put(*dir::open(folder / directory, dir::TemporaryNames::unnamed_if_possible, dated), "bytes");
  }
  void add_row_for(const std::string& key) {
    NewUpload item = file("known");
    item.blob_key = key;
    stage(make_workspace().id, item, clock.now(), clock.now() + std::chrono::hours(24));
  }

  TemporaryDirectory folder;
  ManualClock clock{at(1'000'000)};
  ManualClock long_ago{at(1)};
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log{nowhere, LogLevel::error, clock};
  std::unique_ptr<Backend> other_backend = GetParam().make();
  std::unique_ptr<Store> other_store = other_backend->open();
};

TEST_P(OwnerTest, AnInstallationKeepsItsIdAndKnowsTheSettingOfTheLastStart) {
  EXPECT_EQ(store->find_installation(), std::nullopt);
  const auto id = InstallationId::make(at(1));
  EXPECT_EQ(store->ensure_installation(id, Place::dir).take().value(), (Installation{id, Place::dir, {}}));
  EXPECT_EQ(store->ensure_installation(InstallationId::make(at(2)), Place::s3).take().value(),
            (Installation{id, Place::dir, {}}));
  reopen();
  EXPECT_EQ(store->find_installation(), (Installation{id, Place::s3, {}}));
}

TEST_P(OwnerTest, AMarkIsRecordedOnlyOverTheExpectedOne) {
  const auto id = InstallationId::make(at(1));
  store->ensure_installation(id, Place::dir).take().value();
  const OwnerMark first{id, MarkId::make(at(1))};
  const OwnerMark second{InstallationId::make(at(2)), MarkId::make(at(2))};
  EXPECT_TRUE(store->record_mark(Place::s3, std::nullopt, first).take().value());
  EXPECT_FALSE(store->record_mark(Place::s3, std::nullopt, second).take().value());
  EXPECT_FALSE(store->record_mark(Place::s3, second, first).take().value());
  EXPECT_FALSE(store->record_mark(Place::dir, first, second).take().value());
  EXPECT_TRUE(store->record_mark(Place::s3, first, second).take().value());
  EXPECT_EQ(store->find_installation()->marks, (std::map<Place, OwnerMark>{{Place::s3, second}}));
  EXPECT_TRUE(store->reset_installation().take());
  EXPECT_EQ(store->find_installation(), std::nullopt);
  EXPECT_EQ(store->ensure_installation(second.installation, Place::dir).take().value(),
            (Installation{second.installation, Place::dir, {}}));
}

TEST_P(OwnerTest, AnEmptyPlaceIsMarkedAndOursFromThenOn) {
  EXPECT_EQ(start(*store)->owner.refusal_reason(Place::dir), "");
  EXPECT_TRUE(std::filesystem::exists(mark_in("a")));
  const auto again = start(*store);
  EXPECT_EQ(again->owner.refusal_reason(Place::dir), "");
  EXPECT_NO_THROW(again->places.check());
  EXPECT_THAT(keys_of(*again->files), IsEmpty()) << "the mark is no blob";
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "a" / "tmp"));
}

TEST_P(OwnerTest, APlaceOfAnotherInstallationIsReadButNeverWrittenSweptOrChecked) {
  const auto first = start(*store);
  ASSERT_EQ(first->owner.refusal_reason(Place::dir), "");
  const std::string key = first->places.put()->finish().key;
  const auto second = start(*other_store);
  EXPECT_THAT(second->owner.refusal_reason(Place::dir), HasSubstr("belongs to another installation"));
  EXPECT_THROW(second->places.put(), Unavailable);
  EXPECT_THROW(second->places.check(), Unavailable);
  EXPECT_NE(second->places.open(key), nullptr);
  EXPECT_THROW(second->places.open(new_blob_key(clock.now())), Unavailable) << "missing there does not mean lost";
  Places::UnreachablePlaces unreachable_places;
  EXPECT_THAT(second->places.list("", Time::max(), &unreachable_places).keys, IsEmpty());
  EXPECT_THAT(second->places.drop_all(std::array{key}, &unreachable_places), IsEmpty());
  EXPECT_EQ(second->places.drop_unfinished(Time::max(), &unreachable_places), 0U);
  EXPECT_THAT(unreachable_places[Place::dir], HasSubstr("belongs to another installation"));
  EXPECT_NE(first->places.open(key), nullptr);
}

TEST_P(OwnerTest, AnotherDirectoryOfASecondServerIsNotTheOneTheFirstUses) {
  const auto first = start(*store, "a");
  ASSERT_EQ(first->owner.refusal_reason(Place::dir), "");
  EXPECT_THAT(start(*store, "b")->owner.refusal_reason(Place::dir), HasSubstr("not the one that the other servers"));
  EXPECT_FALSE(std::filesystem::exists(mark_in("b")));
  EXPECT_EQ(start(*store, "a")->owner.refusal_reason(Place::dir), "") << "the same directory is accepted";
}

TEST_P(OwnerTest, OfTwoServersThatStartAtOnceWithDifferentDirectoriesOneRefuses) {
  const auto first = start(*store, "a");
  const auto second = start(*store, "b");
  std::string one, two;
  std::thread beside([&] { one = first->owner.refusal_reason(Place::dir); });
  two = second->owner.refusal_reason(Place::dir);
  beside.join();
  EXPECT_NE(one.empty(), two.empty()) << one << two;
}

TEST_P(OwnerTest, TwoServersThatStartAtOnceOnOneDirectoryAgree) {
  const auto first = start(*store, "a");
  const auto second = start(*store, "a");
  std::string one, two;
  std::thread beside([&] { one = first->owner.refusal_reason(Place::dir); });
  two = second->owner.refusal_reason(Place::dir);
  beside.join();
  EXPECT_EQ(one + two, "");
}

TEST_P(OwnerTest, AMarkThatVanishesStopsEverythingUntilItIsBack) {
  const auto server = start(*store);
  ASSERT_EQ(server->owner.refusal_reason(Place::dir), "");
  std::filesystem::rename(mark_in("a"), folder / "aside");
  EXPECT_THAT(server->owner.refusal_reason(Place::dir), HasSubstr("has lost its mark"));
  EXPECT_THROW(server->places.put(), Unavailable);
  EXPECT_THROW(server->places.open(new_blob_key(clock.now())), Unavailable);
  std::filesystem::rename(folder / "aside", mark_in("a"));
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "");
  EXPECT_NO_THROW(server->places.put());
  EXPECT_EQ(server->places.open(new_blob_key(clock.now())), nullptr);
}

TEST_P(OwnerTest, ADirectoryThatLostFilesIsNotTakenForAnEmptyOne) {
  add_row_for(write("a", clock));
  EXPECT_THAT(start(*store, "b", true)->owner.refusal_reason(Place::dir), HasSubstr("should be there"));
  EXPECT_EQ(start(*store, "a", true)->owner.refusal_reason(Place::dir), "");
  EXPECT_THAT(start(*store, "b", true)->owner.refusal_reason(Place::dir), HasSubstr("has lost its mark"));
}

TEST_P(OwnerTest, AServerAloneMayHaveAnotherEmptyDirectoryWhileNothingIsInTheOld) {
  ASSERT_EQ(start(*store, "a", true)->owner.refusal_reason(Place::dir), "");
  EXPECT_EQ(start(*store, "b", true)->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, FilesOfAnOlderVersionAreTakenOverWhenTheDatabaseKnowsThem) {
  add_row_for(write("a", long_ago));
  write("a", clock);  // it has no row: the old server was stopped in between
  EXPECT_EQ(start(*store)->owner.refusal_reason(Place::dir), "");
  EXPECT_TRUE(std::filesystem::exists(mark_in("a")));
}

TEST_P(OwnerTest, FilesThatTheDatabaseDoesNotKnowBelongToAnotherInstallation) {
  write("a", long_ago);
  EXPECT_THAT(start(*store)->owner.refusal_reason(Place::dir), HasSubstr("does not know"));
  write("a", long_ago);
  add_row_for(write("a", clock));
  EXPECT_THAT(start(*store)->owner.refusal_reason(Place::dir), HasSubstr("does not know")) << "too many for orphans";
  write("b", clock);
  EXPECT_THAT(start(*store, "b")->owner.refusal_reason(Place::dir), HasSubstr("does not know"));
}

TEST_P(OwnerTest, AnOrphanAmongKnownFilesIsAccepted) {
  write("a", long_ago);
  add_row_for(write("a", clock));
  EXPECT_EQ(start(*store)->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, AServerThatIsAloneTakesOverUnknownFiles) {
  write("a", long_ago);
  EXPECT_EQ(start(*store, "a", true)->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, AServerThatIsAloneMayReturnToItsFormerDirectory) {
  for (const char* directory : {"a", "b", "a"}) {
    EXPECT_EQ(start(*store, directory, true)->owner.refusal_reason(Place::dir), "") << directory;
  }
  add_row_for(write("a", clock));
  EXPECT_THAT(start(*store, "b", true)->owner.refusal_reason(Place::dir), HasSubstr("is not the one"));
  EXPECT_EQ(start(*store, "a", true)->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, ATrialBlobOfAnotherServerIsNotCountedAsAFile) {
  const std::string trial = trial_blob_key(clock.now());
  const auto server = start(*store);
  std::filesystem::create_directories(folder / "a" / trial.substr(30));
  std::ofstream(folder / "a" / trial.substr(30) / trial) << "check";
  ASSERT_EQ(keys_of(*server->files).size(), 1u);
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, AMarkThatAKilledServerDidNotRecordIsRecordedByTheNext) {
  const auto server = start(*store);
  const OwnerMark mark{store->find_installation()->id, MarkId::make(at(5))};
  server->files->put_mark(text_of(mark), Blobs::MarkMode::if_there_is_none);
  EXPECT_EQ(start(*store)->owner.refusal_reason(Place::dir), "");
  EXPECT_EQ(store->find_installation()->marks.at(Place::dir), mark);
}

TEST_P(OwnerTest, AMovedDatabaseTakesOverAndTheOldOneIsRefused) {
  const auto old = start(*store);
  ASSERT_EQ(old->owner.refusal_reason(Place::dir), "");
  // A move copies the marks, but not the installation.
  const auto successor = start(*other_store);
  ASSERT_TRUE(other_store->record_mark(Place::dir, std::nullopt, store->find_installation()->marks.at(Place::dir))
                  .take()
                  .value());
  EXPECT_EQ(successor->owner.refusal_reason(Place::dir), "");
  EXPECT_EQ(other_store->find_installation()->marks.at(Place::dir).installation, other_store->find_installation()->id);
  EXPECT_THAT(old->owner.refusal_reason(Place::dir), HasSubstr("belongs to another installation"));
}

TEST_P(OwnerTest, AllServersOnAMovedDatabaseTakeOver) {
  const auto old = start(*store);
  ASSERT_EQ(old->owner.refusal_reason(Place::dir), "");
  const auto inherited = store->find_installation()->marks.at(Place::dir);
  std::vector<std::unique_ptr<Server>> successors;
  for (int i = 0; i < 4; ++i) successors.push_back(start(*other_store));
  ASSERT_TRUE(other_store->record_mark(Place::dir, std::nullopt, inherited).take().value());
  std::vector<std::string> refusal_reasons(successors.size());
  {
    std::vector<std::jthread> starts;
    for (std::size_t i = 0; i < successors.size(); ++i)
      starts.emplace_back([&, i] { refusal_reasons[i] = successors[i]->owner.refusal_reason(Place::dir); });
  }
  EXPECT_THAT(refusal_reasons, ::testing::Each(""));
  for (const auto& successor : successors)
    EXPECT_EQ(successor->owner.refusal_reason(Place::dir), "") << "this does not change";
}

TEST_P(OwnerTest, ASuccessorKilledBeforeItRecordedTheMarkIsFollowedByTheNext) {
  ASSERT_EQ(start(*store)->owner.refusal_reason(Place::dir), "");
  const auto inherited = store->find_installation()->marks.at(Place::dir);
  const auto successor = start(*other_store);
  ASSERT_TRUE(other_store->record_mark(Place::dir, std::nullopt, inherited).take().value());
  const OwnerMark taken{other_store->find_installation()->id, inherited.mark};
  successor->files->put_mark(text_of(taken), Blobs::MarkMode::anyway);
  EXPECT_EQ(start(*other_store)->owner.refusal_reason(Place::dir), "");
  EXPECT_EQ(other_store->find_installation()->marks.at(Place::dir), taken);
}

TEST_P(OwnerTest, ASuccessorDoesNotTakeAnEmptyDirectoryForTheOneWithItsFiles) {
  ASSERT_EQ(start(*store, "b")->owner.refusal_reason(Place::dir), "");
  ASSERT_EQ(start(*other_store)->owner.refusal_reason(Place::dir), "");
  const auto own = store->find_installation()->marks.at(Place::dir);
  ASSERT_TRUE(
      store->record_mark(Place::dir, own, other_store->find_installation()->marks.at(Place::dir)).take().value());
  add_row_for(write("a", clock));
  EXPECT_THAT(start(*store, "b")->owner.refusal_reason(Place::dir), HasSubstr("is empty although"));
  EXPECT_EQ(start(*store)->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, TheOperatorMayAdoptAPlace) {
  const auto first = start(*store);
  ASSERT_EQ(first->owner.refusal_reason(Place::dir), "");
  const auto second = start(*other_store);
  EXPECT_THROW(second->owner.adopt(Place::dir, Owner::Force::no), OpenRefused);
  EXPECT_EQ(first->owner.refusal_reason(Place::dir), "");
  second->owner.adopt(Place::dir, Owner::Force::yes);
  EXPECT_EQ(second->owner.refusal_reason(Place::dir), "");
  EXPECT_THAT(first->owner.refusal_reason(Place::dir), HasSubstr("belongs to another installation"));
  write("b", long_ago);
  const auto moved = start(*other_store, "b");
  EXPECT_NE(moved->owner.refusal_reason(Place::dir), "");
  moved->owner.adopt(Place::dir, Owner::Force::no);
  EXPECT_EQ(moved->owner.refusal_reason(Place::dir), "");
  EXPECT_THROW(moved->owner.adopt(Place::inlined, Owner::Force::no), OpenRefused);
  EXPECT_THROW(moved->owner.adopt(Place::s3, Owner::Force::no), OpenRefused);
}

TEST_P(OwnerTest, AMarkThatCannotBeReadIsNotOurs) {
  start(*store);
  std::ofstream(mark_in("a")) << "nothing of the kind";
  EXPECT_THAT(start(*store)->owner.refusal_reason(Place::dir), HasSubstr("cannot read"));
  std::filesystem::remove(mark_in("a"));
  std::filesystem::create_directory(mark_in("a"));
  const auto server = start(*store);
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "")
      << "a mark that cannot be read does not stop a server from starting";
  EXPECT_THROW(server->owner.require(Place::dir), Unavailable) << "but the place is not ours";
  EXPECT_NO_THROW(server->places.put());
}

TEST_P(OwnerTest, BeforeItsTablesAreThereNothingIsOurs) {
  const auto older = GetParam().make();
  const auto schema = older->open_before("owners");
  EXPECT_THROW(schema->find_installation(), Unavailable);
  EXPECT_THROW(schema->ensure_installation(InstallationId(), Place::dir), Unavailable);
  EXPECT_THROW(schema->record_mark(Place::dir, std::nullopt, {}), Unavailable);
  EXPECT_THROW(schema->reset_installation(), Unavailable);
}

TEST_P(OwnerTest, ServersWithDifferentSettingsAreReported) {
  const auto first = start(*store);
  EXPECT_EQ(first->owner.disagreement(), "");
  store->ensure_installation(InstallationId::make(at(2)), Place::s3).take().value();
  EXPECT_THAT(first->owner.disagreement(), HasSubstr("blobs = \"dir\" is set here"));
  EXPECT_EQ(start(*store)->owner.disagreement(), "") << "the latest start counts";
}

RESTANTE_EVERY_BACKEND(OwnerTest);

}  // namespace
}  // namespace restante::testing
