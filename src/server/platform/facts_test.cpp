#include "server/platform/facts.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/test_folder.h"
#include "server/places/places.h"
#include "server/settings/settings.h"
#include "store/sqlite/store.h"

namespace restante {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kToken = "q3vX0b-9ZsT7uLm2JkRcW8yHnEoPaGd4fI6x_1VwQtU";

std::string all_of(const std::vector<api::EffectiveSetting>& settings) {
  std::string text;
  for (const auto& one : settings) text += one.key + " = " + one.value + " # " + one.origin + " " + one.help + "\n";
  return text;
}

const api::EffectiveSetting& named(const std::vector<api::EffectiveSetting>& settings, std::string_view key) {
  return *std::ranges::find(settings, key, &api::EffectiveSetting::key);
}

TEST(EffectiveSettings, ContainAllSettingsWithTheirOrigin) {
  const Config config = load_config({{}, {{"RESTANTE_LOG_LEVEL", "warn"}}, {}});
  const auto all = effective_settings(config);
  EXPECT_EQ(all.size(), settings().size());
  EXPECT_EQ(named(all, "log.level").value, "\"warn\"");
  EXPECT_EQ(named(all, "log.level").origin, "RESTANTE_LOG_LEVEL");
  EXPECT_EQ(named(all, "uploads.max_files").value, "64");
  EXPECT_EQ(named(all, "uploads.max_files").origin, "");
  EXPECT_FALSE(named(all, "uploads.max_files").help.empty());
}

TEST(EffectiveSettings, NameASecretAndNeverContainIt) {
  const Config config = load_config(
      {{},
       {{"RESTANTE_ADMIN_TOKEN", kToken}, {"RESTANTE_DATABASE", "postgres://post:hunter2horse@db.example/post"}},
       {}});
  const auto all = effective_settings(config);
  EXPECT_EQ(named(all, "admin_token").value, "********");
  EXPECT_EQ(named(all, "admin_token").origin, "RESTANTE_ADMIN_TOKEN");
  EXPECT_THAT(named(all, "database").value, HasSubstr("db.example"));
  EXPECT_THAT(all_of(all), Not(HasSubstr(kToken)));
  EXPECT_THAT(all_of(all), Not(HasSubstr("hunter2horse")));
}

TEST(EffectiveSettings, ContainNothingForASecretThatIsNotSet) {
  EXPECT_EQ(named(effective_settings(load_config({{}, {}, {}})), "admin_token").value, "");
}

TEST(StateOfRows, NamesTheDatabaseItsPlaceAndItsFailure) {
  const TestFolder folder;
  Config config;
  config.data = folder.string();
  const auto store = sqlite::open(database_file(config), sqlite::Options{Time(std::chrono::seconds(1'800'000'000))});
  const api::StoreState well = state_of_rows(config, *store);
  EXPECT_EQ(well.error, "");
  EXPECT_EQ(well.kind, "SQLite");
  EXPECT_THAT(well.detail, HasSubstr("SQLite 3."));
  EXPECT_THAT(well.detail, HasSubstr("schema "));
  EXPECT_THAT(well.place, HasSubstr(folder.string()));
  std::filesystem::rename(database_file(config), folder / "renamed");
  EXPECT_THAT(state_of_rows(config, *store).error, HasSubstr("moved"));
}

TEST(StateOfBlobs, ContainsTheReasonOfAFailure) {
  const Config config;
  const PlacePlan files;
  EXPECT_EQ(state_of_blobs(config, files, [] {}).error, "");
  EXPECT_EQ(state_of_blobs(
                config, files, [] { throw Unavailable("the disk has failed"); }, "and more")
                .error,
            "the disk has failed");
  EXPECT_NE(state_of_blobs(config, files, [] { throw Unavailable(""); }).error, "");
  EXPECT_EQ(state_of_blobs(config, files, [] {}, "what no check finds").error, "what no check finds");
}

TEST(StateOfBlobs, NamesThePlaceOfNewFilesAlsoWhenTheSettingsDiffer) {
  Config config;
  config.s3.endpoint = "https://s3.example.org";
  config.s3.bucket = "mail";
  config.s3.prefix = "post/";
  EXPECT_EQ(state_of_blobs(config, {}, [] {}).kind, "files");
  EXPECT_THAT(state_of_blobs(config, {}, [] {}).place, HasSubstr("/data/blobs"));
  EXPECT_EQ(state_of_blobs(config, {Place::inlined, {}}, [] {}).place, "the database");
  const auto moving = state_of_blobs(config, {Place::s3, Place::dir}, [] {});
  EXPECT_EQ(moving.kind, "S3");
  EXPECT_EQ(moving.place, "https://s3.example.org/mail/post/");
  EXPECT_THAT(moving.detail, HasSubstr("also as files in "));
}

TEST(WrittenDirectories, AreThoseOnLocalDisks) {
  Config config;
  const PlacePlan files{Place::dir, {}}, rows{Place::inlined, {}}, bucket{Place::s3, {}}, both{Place::s3, Place::dir};
  EXPECT_EQ(written_directories(config, files).size(), 2u);
  EXPECT_EQ(written_directories(config, bucket).size(), 1u) << "that of the database";
  config.database = "postgres://db/post";
  EXPECT_EQ(written_directories(config, files).size(), 1u);
  EXPECT_EQ(written_directories(config, both).size(), 1u);
  EXPECT_TRUE(written_directories(config, rows).empty());
  EXPECT_TRUE(written_directories(config, bucket).empty());
}

}  // namespace
}  // namespace restante
