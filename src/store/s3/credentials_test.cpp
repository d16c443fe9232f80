#include "store/s3/credentials.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/test_folder.h"

namespace restante::s3 {
namespace {

client::Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
}

class CredentialFile : public ::testing::Test {
 protected:
  CredentialFile() { std::filesystem::create_directory(folder / ".aws"); }
  std::string write(const std::string& name, const std::string& text) const { return folder.make(name, text); }
  // Reads the file "keys", which has this text, and nothing else.
  CredentialSource source_of(const std::string& text) const {
    CredentialSettings settings;
    settings.file = write("keys", text);
    return CredentialSource(settings, environment({}));
  }
  static std::string keys(const std::string& access_key, const std::string& secret_key) {
    return "[default]\naws_access_key_id=" + access_key + "\naws_secret_access_key=" + secret_key + "\n";
  }
  TestFolder folder;
};

TEST(Credentials, ASectionIsReadAsTheAwsToolsWriteIt) {
  const auto found = read_credentials(
      "# mine\r\n[other]\r\naws_access_key_id=no\r\n\r\n[ work ]\r\n  AWS_Access_Key_Id = AK \r\n; a comment\r\n"
      "aws_secret_access_key = s/e=c+ret\r\naws_session_token=tok\r\nregion = x\r\n[third]\r\naws_access_key_id=no\r\n",
      "work");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->access_key, "AK");
  EXPECT_EQ(found->secret_key, "s/e=c+ret");
  EXPECT_EQ(found->session_token, "tok");
}

TEST(Credentials, ASectionThatIsAbsentIncompleteOrNotUsableGivesNoKeys) {
  for (const char* file : {"", "aws_access_key_id=a\naws_secret_access_key=b\n", "[default]\naws_access_key_id=a\n",
                           "[default\naws_access_key_id=a\naws_secret_access_key=b\n",
                           "[default]\naws_access_key_id=a b\naws_secret_access_key=b\n"}) {
    EXPECT_FALSE(read_credentials(file, "default")) << file;
  }
  EXPECT_FALSE(read_credentials("[", ""));
}

TEST_F(CredentialFile, TheSettingsComeBeforeTheEnvironmentAndThatBeforeTheFile) {
  const auto file = write("keys", keys("file", "f"));
  const auto around = environment({{"AWS_ACCESS_KEY_ID", "around"},
                                   {"AWS_SECRET_ACCESS_KEY", "e"},
                                   {"AWS_SESSION_TOKEN", "t"},
                                   {"AWS_SHARED_CREDENTIALS_FILE", file}});
  CredentialSettings settings;
  settings.access_key = "given";
  settings.secret_key = "g";
  EXPECT_EQ(CredentialSource(settings, around).current().value().access_key, "given");
  EXPECT_EQ(CredentialSource({}, around).current().value().access_key, "around");
  EXPECT_EQ(CredentialSource({}, around).current().value().session_token, "t");
  EXPECT_EQ(CredentialSource({}, environment({{"AWS_SHARED_CREDENTIALS_FILE", file}})).current().value().access_key,
            "file");
}

TEST_F(CredentialFile, TheFileInTheHomeDirectoryIsUsedLast) {
  write(".aws/credentials", keys("home", "h"));
  EXPECT_EQ(CredentialSource({}, environment({{"HOME", folder.string()}})).current().value().access_key, "home");
}

TEST_F(CredentialFile, RotatedKeysAreReadOnceTheOldOnesWereRefused) {
  CredentialSource source = source_of(keys("old", "s"));
  EXPECT_EQ(source.current().value().access_key, "old");
  write("keys", keys("new", "s"));
  EXPECT_EQ(source.current().value().access_key, "old");
  const auto old = source.generation();
  EXPECT_TRUE(source.renew(old));
  EXPECT_EQ(source.current().value().access_key, "new");
  EXPECT_TRUE(source.renew(old)) << "another thread has renewed them meanwhile";
  EXPECT_FALSE(source.renew(source.generation())) << "there are no others";
}

TEST_F(CredentialFile, AFileThatIsJustBeingWrittenChangesNothing) {
  CredentialSource source = source_of(keys("old", "s"));
  EXPECT_EQ(source.current().value().access_key, "old");
  write("keys", "[default]\naws_access_key_id=ne");
  EXPECT_FALSE(source.renew(source.generation()));
  EXPECT_EQ(source.current().value().access_key, "old");
  write("keys", keys("old", "t"));
  EXPECT_TRUE(source.renew(source.generation()));
  EXPECT_EQ(source.current().value().secret_key, "t");
}

TEST(Credentials, KeysFromTheSettingsAreNeverRenewed) {
  CredentialSettings settings;
  settings.access_key = "given";
  settings.secret_key = "g";
  CredentialSource source(settings, environment({}));
  EXPECT_EQ(source.current().value().access_key, "given");
  EXPECT_FALSE(source.renew(source.generation()));
}

TEST_F(CredentialFile, TheSentenceNamesWhatIsMissingAndContainsNoValue) {
  CredentialSettings half;
  half.secret_key = "hidden";
  const auto failure = CredentialSource(half, environment({})).current();
  ASSERT_TRUE(failure.has_error());
  EXPECT_EQ(failure.error().sentence.find("hidden"), std::string::npos);

  const auto around = CredentialSource({}, environment({{"AWS_SECRET_ACCESS_KEY", "hidden"}})).current();
  ASSERT_TRUE(around.has_error());
  EXPECT_NE(around.error().sentence.find("AWS_ACCESS_KEY_ID"), std::string::npos);
  EXPECT_EQ(around.error().sentence.find("hidden"), std::string::npos);

  EXPECT_TRUE(CredentialSource({}, environment({})).current().has_error());
  CredentialSettings settings;
  settings.file = (folder / "absent").string();
  const auto absent = CredentialSource(settings, environment({})).current();
  ASSERT_TRUE(absent.has_error());
  EXPECT_NE(absent.error().sentence.find("absent"), std::string::npos);
  settings.file = write("keys", "[other]\naws_access_key_id=hidden\naws_secret_access_key=hidden\n");
  const auto other = CredentialSource(settings, environment({})).current();
  ASSERT_TRUE(other.has_error());
  EXPECT_NE(other.error().sentence.find("[default]"), std::string::npos);
  EXPECT_EQ(other.error().sentence.find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace restante::s3
