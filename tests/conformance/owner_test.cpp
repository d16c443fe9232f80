// Which installation owns a directory of blobs, on every store: marking, refusing until the operator adopts it, and
// never touching files of another installation.
#include "store/owner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "backends.h"
#include "base/test_clock.h"
#include "base/test_folder.h"
#include "blobs_suite.h"
#include "store/blob_key.h"
#include "store/dir/blobs.h"
#include "store/migration.h"
#include "store/places.h"
#include "store/test_blobs.h"

namespace restante::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A server's view of one directory.
struct Server {
  Server(Store& store, const std::filesystem::path& directory, const Clock& clock, Log& log)
      : files(dir::open(directory, dir::TemporaryNames::unnamed_if_possible, clock)),
        hooked(*files),
        owner(store, {{Place::dir, hooked}}, clock, log, metrics, OwnerRules()),
        places({{Place::dir, *files}}, {Place::dir, {}}, log, metrics, &owner) {
    owner.ensure_installation();
  }

  Metrics metrics{{"test", "test", "test"}};
  const std::unique_ptr<Blobs> files;
  HookedBlobs hooked;  // what the owner sees
  Owner owner;
  Places places;
};

class OwnerTest : public StoreTest {
 protected:
  std::unique_ptr<Server> start(Store& on, const char* directory = "a") {
    return std::make_unique<Server>(on, folder / directory, clock, log);
  }
  // A server on this directory is refused with this sentence, nothing there is changed, and the command that the
  // sentence names makes the place ours.
  void expect_refused_until_adopted(Store& on, const char* directory, const char* sentence,
                                    Owner::Force force = Owner::Force::no) {
    const bool marked = std::filesystem::exists(mark_in(directory));
    const auto server = start(on, directory);
    const std::string reason = server->owner.refusal_reason(Place::dir);
    EXPECT_THAT(reason, HasSubstr(sentence));
    EXPECT_THAT(reason, HasSubstr("Only if ")) << "it says when not to adopt";
    const std::string command = "restante blobs adopt --place dir";
    EXPECT_THAT(reason, EndsWith(force == Owner::Force::yes ? command + " --force" : command));
    EXPECT_THROW(server->places.put(), Unavailable);
    EXPECT_EQ(std::filesystem::exists(mark_in(directory)), marked);
    if (force == Owner::Force::yes) {
      EXPECT_THROW(server->owner.adopt(Place::dir, Owner::Force::no), OpenRefused);
    }
    server->owner.adopt(Place::dir, force);
    EXPECT_EQ(server->owner.refusal_reason(Place::dir), "");
    EXPECT_EQ(start(on, directory)->owner.refusal_reason(Place::dir), "") << "also after the next start";
  }
  std::filesystem::path mark_in(const char* directory) const { return folder / directory / kMarkName; }
  // A blob in a directory without a mark.
  std::string write(const char* directory) {
    return put(*dir::open(folder / directory, dir::TemporaryNames::unnamed_if_possible, clock), "bytes");
  }
  static void put_file(Places& places) {
    const auto writer = places.put();
    writer->write("bytes");
    (void)writer->finish();
  }
  void add_row_for(const std::string& key) {
    NewUpload item = file("known");
    item.blob_key = key;
    stage(make_workspace().id, item, clock.now(), clock.now() + std::chrono::hours(24));
  }

  TestFolder folder;
  ManualClock clock{at(1'000'000)};
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
  EXPECT_THAT(start(*store, "b")->owner.refusal_reason(Place::dir), HasSubstr("is not the one that was used"));
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
  EXPECT_THAT(server->owner.refusal_reason(Place::dir), HasSubstr("has no mark"));
  EXPECT_THROW(server->places.put(), Unavailable);
  EXPECT_THROW(server->places.open(new_blob_key(clock.now())), Unavailable);
  std::filesystem::rename(folder / "aside", mark_in("a"));
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "");
  EXPECT_NO_THROW(server->places.put());
  EXPECT_EQ(server->places.open(new_blob_key(clock.now())), nullptr);
}

TEST_P(OwnerTest, AnEmptyDirectoryIsRefusedWhileRowsNameFilesThatShouldBeThere) {
  add_row_for(write("a"));
  expect_refused_until_adopted(*store, "b", "it was emptied, is not mounted, or is not the one that was used");
}

TEST_P(OwnerTest, AnEmptyDirectoryInsteadOfTheMarkedOneIsRefused) {
  ASSERT_EQ(start(*store, "a")->owner.refusal_reason(Place::dir), "");
  expect_refused_until_adopted(*store, "b",
                               "has no mark (restante-owner) although this installation has used its place");
}

TEST_P(OwnerTest, FilesWithoutAMarkAreRefusedAlsoWhenRowsNameThem) {
  add_row_for(write("a"));
  expect_refused_until_adopted(*store, "a", "has no mark (restante-owner) although");
}

TEST_P(OwnerTest, FilesWithoutAMarkThatNoRowNamesAreRefused) {
  const std::string key = write("a");
  expect_refused_until_adopted(*store, "a", "has files but no mark (restante-owner)");
  EXPECT_NE(start(*store)->places.open(key), nullptr);
}

TEST_P(OwnerTest, APlaceThatThisInstallationUsedBeforeAnotherOneIsRefused) {
  ASSERT_EQ(start(*store, "a")->owner.refusal_reason(Place::dir), "");
  start(*store, "b")->owner.adopt(Place::dir, Owner::Force::no);
  expect_refused_until_adopted(*store, "a", "has a mark of this installation but is not the one that it uses");
  EXPECT_THAT(start(*store, "b")->owner.refusal_reason(Place::dir), HasSubstr("is not the one that it uses"));
}

// Both start at once on an empty directory. The second looks for a mark before the first has written it, and finds the
// first one's files.
TEST_P(OwnerTest, FilesOfAServerThatMarkedThePlaceMeanwhileAreOurs) {
  const auto first = start(*store);
  const auto second = start(*store);
  bool is_filled = false;
  second->hooked.listing = [&] {
    if (std::exchange(is_filled, true)) return;
    EXPECT_EQ(first->owner.refusal_reason(Place::dir), "");
    put_file(first->places);
  };
  EXPECT_EQ(second->owner.refusal_reason(Place::dir), "");
  EXPECT_TRUE(is_filled);
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

// What a move by an older version has left: the recorded marks of the installation before it.
TEST_P(OwnerTest, ARecordedMarkOfAnotherInstallationDoesNotMakeThePlaceOurs) {
  const auto old = start(*store);
  ASSERT_EQ(old->owner.refusal_reason(Place::dir), "");
  const auto recorded = store->find_installation()->marks.at(Place::dir);
  ASSERT_TRUE(other_store->record_mark(Place::dir, std::nullopt, recorded).take().value());
  expect_refused_until_adopted(*other_store, "a", "belongs to another installation", Owner::Force::yes);
  EXPECT_THAT(old->owner.refusal_reason(Place::dir), HasSubstr("belongs to another installation"));
}

TEST_P(OwnerTest, TheOperatorMayAdoptAPlace) {
  const auto first = start(*store);
  ASSERT_EQ(first->owner.refusal_reason(Place::dir), "");
  expect_refused_until_adopted(*other_store, "a", "belongs to another installation", Owner::Force::yes);
  EXPECT_THAT(first->owner.refusal_reason(Place::dir), HasSubstr("belongs to another installation"));
  EXPECT_THROW(first->owner.adopt(Place::inlined, Owner::Force::no), OpenRefused);
  EXPECT_THROW(first->owner.adopt(Place::s3, Owner::Force::no), OpenRefused);
}

TEST_P(OwnerTest, AMarkThatCannotBeReadIsNotOurs) {
  start(*store);
  std::ofstream(mark_in("a")) << "nothing of the kind";
  expect_refused_until_adopted(*store, "a", "cannot read", Owner::Force::yes);
  std::filesystem::remove(mark_in("a"));
  std::filesystem::create_directory(mark_in("a"));
  const auto server = start(*store);
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "")
      << "a mark that cannot be read does not stop a server from starting";
  EXPECT_THROW(server->owner.require(Place::dir), Unavailable) << "but the place is not ours";
  EXPECT_NO_THROW(server->places.put());
}

TEST_P(OwnerTest, AnEmptyPlaceThatCouldNotBeMarkedGetsNoFileBeforeItsMark) {
  std::filesystem::create_directories(mark_in("a"));  // cannot be read as a mark
  const auto server = start(*store);
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "") << "the server starts";
  EXPECT_THROW(server->places.put(), Unavailable);
  std::filesystem::remove(mark_in("a"));
  put_file(server->places);
  EXPECT_TRUE(std::filesystem::is_regular_file(mark_in("a")));
  EXPECT_EQ(server->owner.refusal_reason(Place::dir), "");
}

TEST_P(OwnerTest, APlaceThatWasNotCheckedYetIsCheckedBeforeItGetsAFile) {
  const auto server = start(*store);
  put_file(server->places);
  EXPECT_TRUE(std::filesystem::exists(mark_in("a")));
  EXPECT_THROW(put_file(start(*other_store)->places), Unavailable);
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
