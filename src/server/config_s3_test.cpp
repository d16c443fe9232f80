#include "server/config_s3.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/config_settings.h"
#include "server/config_values.h"

namespace restante {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Variables = std::map<std::string, std::string>;

Variables bucket_and(const Variables& more) {
  Variables all{{"RESTANTE_S3_ENDPOINT", "https://s3.example.org"}, {"RESTANTE_S3_BUCKET", "mail"}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

Config with(const Variables& variables) { return load_config({{}, variables, {}}); }

std::string refusal(const ConfigSources& sources) {
  try {
    load_config(sources);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}
std::string refusal(const Variables& variables) { return refusal(ConfigSources{{}, variables, {}}); }

class S3File : public ::testing::Test {
 protected:
  S3File() {
    std::string name = std::filesystem::temp_directory_path() / "restante-s3-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~S3File() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& text, mode_t mode) const {
    const auto path = (folder / name).string();
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::filesystem::path folder;
};

const std::string kSecretFile =
    "[s3]\nendpoint = \"https://s3.example.org\"\nbucket = \"mail\"\n"
    "access_key = \"AKnobody\"\nsecret_key = \"hunter2horse\"\n";

TEST(S3Settings, ABucketCanBeNamedBeforeItIsUsed) {
  const Config config = with(bucket_and({{"RESTANTE_S3_PREFIX", "restante/"}, {"RESTANTE_S3_THREADS", "7"}}));
  EXPECT_TRUE(has_bucket(config));
  EXPECT_EQ(config.blobs, "dir");
  EXPECT_EQ(config.s3.prefix, "restante/");
  EXPECT_EQ(config.net.bytes_threads, 7u) << "it may be read from at any time";
  EXPECT_EQ(with({}).net.bytes_threads, 0u);
  EXPECT_FALSE(has_bucket(with({})));
}

TEST(S3Settings, S3WithoutABucketOrAnEndpointSaysWhatToSet) {
  EXPECT_THAT(refusal({{"RESTANTE_BLOBS", "s3"}}), AllOf(HasSubstr("s3.bucket"), HasSubstr("s3.endpoint")));
  EXPECT_THAT(refusal({{"RESTANTE_BLOBS", "s3"}, {"RESTANTE_S3_BUCKET", "mail"}}),
              AllOf(HasSubstr("RESTANTE_S3_BUCKET"), HasSubstr("s3.endpoint")));
  EXPECT_EQ(refusal(bucket_and({{"RESTANTE_BLOBS", "s3"}})), "");
}

TEST(S3Settings, HalfAKeyIsNone) {
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_ACCESS_KEY", "AKnobody"}})), HasSubstr("without s3.secret_key"));
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_SECRET_KEY", "hunter2horse"}})),
              AllOf(HasSubstr("without s3.access_key"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_SESSION_TOKEN", "hunter2horse"}})),
              AllOf(HasSubstr("s3.access_key"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_SECRET_KEY", "hunter2 horse"}})),
              AllOf(HasSubstr("printable"), Not(HasSubstr("hunter2"))));
}

TEST(S3Settings, NamesThatCannotBeRightAreRefused) {
  for (const char* endpoint : {"s3.example.org", "ftp://s3.example.org", "https://", "https://a b"}) {
    EXPECT_THROW(parse_s3_endpoint(endpoint), BadValue) << endpoint;
  }
  EXPECT_EQ(parse_s3_endpoint("https://S3.example.org:9000/"), "https://s3.example.org:9000");
  for (const char* bucket : {"ab", "a/b/c", "a b c", ".abc", "s3://mail"}) {
    EXPECT_THROW(parse_bucket(bucket), BadValue) << bucket;
  }
  EXPECT_EQ(parse_bucket("my.mail-2_x"), "my.mail-2_x");
  for (const char* prefix : {"/a", "a//b", "a/../b", "./a", "a b", "a?b", "ä"}) {
    EXPECT_THROW(parse_s3_prefix(prefix), BadValue) << prefix;
  }
  EXPECT_THROW(parse_s3_prefix(std::string(501, 'a')), BadValue);
  EXPECT_EQ(parse_s3_prefix("post/office-1/"), "post/office-1/");
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_REGION", ""}})), HasSubstr("RESTANTE_S3_REGION is empty"));
}

TEST(S3Settings, PlainHttpBeyondThisMachineIsWarnedOf) {
  const auto warned = [](const std::string& endpoint) {
    return warnings(with(bucket_and({{"RESTANTE_S3_ENDPOINT", endpoint}})));
  };
  EXPECT_THAT(warned("http://s3.example.org"), Contains(HasSubstr("plain http")));
  EXPECT_THAT(warned("http://127.0.0.1:9000"), IsEmpty());
  EXPECT_THAT(warned("https://s3.example.org"), IsEmpty());
  EXPECT_THAT(
      warnings(with(bucket_and({{"RESTANTE_S3_BUCKET", "my.mail"}, {"RESTANTE_S3_ADDRESSING", "virtual_host"}}))),
      Contains(HasSubstr("certificates")));
}

TEST_F(S3File, ASecretIsTakenFromAPrivateFileAndShownNowhere) {
  const Config config = load_config({write("c.toml", kSecretFile, 0600), {}, {}});
  EXPECT_EQ(config.s3.secret_key, "hunter2horse");
  EXPECT_THAT(print_config(config), AllOf(HasSubstr("# s3.secret_key in "), HasSubstr("********"),
                                          Not(HasSubstr("hunter2")), Not(HasSubstr("AKnobody"))));
  EXPECT_EQ(load_config({write("again.toml", print_config(config), 0600), {}, {}}).s3.bucket, "mail");
}

TEST_F(S3File, ASecretThatEverybodyCanReadIsRefused) {
  EXPECT_THAT(refusal(ConfigSources{write("c.toml", kSecretFile, 0644), {}, {}}),
              AllOf(HasSubstr("everybody on this machine can read"), HasSubstr("RESTANTE_S3_"),
                    Not(HasSubstr("hunter2")), Not(HasSubstr("AKnobody"))));
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", write("keys", "[default]\n", 0644)}})),
              HasSubstr("everybody on this machine can read"));
  EXPECT_EQ(refusal(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", write("keys", "[default]\n", 0600)}})), "");
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", "/nowhere/keys"}})), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal(bucket_and({{"RESTANTE_S3_CA_FILE", "/nowhere/ca"}})), HasSubstr("cannot be read"));
}

TEST(S3Settings, ASecretIsNoFlag) {
  const ConfigSources sources{{}, bucket_and({}), {{"s3.secret_key", "hunter2horse", "--set"}}};
  EXPECT_THAT(refusal(sources), AllOf(HasSubstr("RESTANTE_S3_SECRET_KEY"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace restante
