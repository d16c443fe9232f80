#include "server/config/s3.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/config/test_config.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

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

Variables with_keys(const Variables& more) {
  Variables all = bucket_and({{"RESTANTE_S3_ACCESS_KEY", "AK"}, {"RESTANTE_S3_SECRET_KEY", "secret"}});
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

client::Environment environment(Variables values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
}

std::string refusal_to_start(const Config& config, const Variables& variables) {
  return refusal([&] { require_s3_keys(config, environment(variables)); });
}

Config with(const Variables& variables) { return load_config({{}, variables, {}}); }

std::string refusal_of(const ConfigSources& sources) {
  return refusal([&] { load_config(sources); });
}
std::string refusal_of(const Variables& variables) { return refusal_of(ConfigSources{{}, variables, {}}); }

class S3File : public ConfigFiles {};

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

TEST(S3Settings, S3WithoutABucketOrAnEndpointNamesWhatToSet) {
  EXPECT_THAT(refusal_of({{"RESTANTE_BLOBS", "s3"}}), AllOf(HasSubstr("s3.bucket"), HasSubstr("s3.endpoint")));
  EXPECT_THAT(refusal_of({{"RESTANTE_BLOBS", "s3"}, {"RESTANTE_S3_BUCKET", "mail"}}),
              AllOf(HasSubstr("RESTANTE_S3_BUCKET"), HasSubstr("s3.endpoint")));
  EXPECT_EQ(refusal_of(bucket_and({{"RESTANTE_BLOBS", "s3"}})), "");
}

TEST(S3Settings, HalfAKeyIsRefused) {
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_ACCESS_KEY", "AKnobody"}})), HasSubstr("without s3.secret_key"));
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_SECRET_KEY", "hunter2horse"}})),
              AllOf(HasSubstr("without s3.access_key"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_SESSION_TOKEN", "hunter2horse"}})),
              AllOf(HasSubstr("s3.access_key"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_SECRET_KEY", "hunter2 horse"}})),
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
  EXPECT_EQ(parse_s3_prefix("files/server-1/"), "files/server-1/");
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_REGION", ""}})), HasSubstr("RESTANTE_S3_REGION is empty"));
}

TEST(S3Settings, PlainHttpBeyondThisMachineGivesAWarning) {
  const auto warned = [](const std::string& endpoint) {
    return warnings(with(with_keys({{"RESTANTE_S3_ENDPOINT", endpoint}})));
  };
  EXPECT_THAT(warned("http://s3.example.org"), Contains(HasSubstr("plain http")));
  EXPECT_THAT(warned("http://127.0.0.1:9000"), IsEmpty());
  EXPECT_THAT(warned("https://s3.example.org"), IsEmpty());
  EXPECT_THAT(
      warnings(with(bucket_and({{"RESTANTE_S3_BUCKET", "my.mail"}, {"RESTANTE_S3_ADDRESSING", "virtual_host"}}))),
      Contains(HasSubstr("certificates")));
}

TEST_F(S3File, ASecretIsReadFromAPrivateFileAndNeverShown) {
  const Config config = load_config({write("c.toml", kSecretFile), {}, {}});
  EXPECT_EQ(config.s3.secret_key, "hunter2horse");
  EXPECT_THAT(print_config(config), AllOf(HasSubstr("# s3.secret_key in "), HasSubstr("********"),
                                          Not(HasSubstr("hunter2")), Not(HasSubstr("AKnobody"))));
  EXPECT_EQ(load_config({write("again.toml", print_config(config)), {}, {}}).s3.bucket, "mail");
}

TEST_F(S3File, ASecretThatAllUsersCanReadIsRefused) {
  EXPECT_THAT(refusal_of(ConfigSources{write("c.toml", kSecretFile, 0644), {}, {}}),
              AllOf(HasSubstr("all users of this machine can read"), HasSubstr("RESTANTE_S3_"),
                    Not(HasSubstr("hunter2")), Not(HasSubstr("AKnobody"))));
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", write("keys", "[default]\n", 0644)}})),
              HasSubstr("all users of this machine can read"));
  EXPECT_EQ(refusal_of(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", write("keys", "[default]\n")}})), "");
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", "/nowhere/keys"}})), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal_of(bucket_and({{"RESTANTE_S3_CA_FILE", "/nowhere/ca"}})), HasSubstr("cannot be read"));
}

const std::string kKeyFile = "[default]\naws_access_key_id=AK\naws_secret_access_key=s\n";

TEST_F(S3File, AServerThatStoresFilesInS3DoesNotStartWithoutKeysAndNamesWhereItSearched) {
  const Config config = with(bucket_and({{"RESTANTE_BLOBS", "s3"}}));
  EXPECT_THAT(refusal_to_start(config, {}),
              AllOf(HasSubstr("RESTANTE_BLOBS is s3"), HasSubstr("bucket mail"), HasSubstr("s3.access_key"),
                    HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr("s3.credentials_file")));
  EXPECT_THAT(refusal_to_start(config, {{"HOME", folder_.string()}}),
              AllOf(HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr(folder_.string() + "/.aws/credentials cannot be read")));
  EXPECT_THAT(refusal_to_start(config, {{"AWS_SHARED_CREDENTIALS_FILE", write("empty", "[other]\n")}}),
              AllOf(HasSubstr("empty"), HasSubstr("[default] (s3.profile)")));
  EXPECT_THAT(refusal_to_start(config, {{"AWS_ACCESS_KEY_ID", "AK"}}), HasSubstr("AWS_SECRET_ACCESS_KEY"));
  EXPECT_EQ(refusal_to_start(config, {{"AWS_ACCESS_KEY_ID", "AK"}, {"AWS_SECRET_ACCESS_KEY", "s"}}), "");
  EXPECT_EQ(refusal_to_start(config, {{"AWS_SHARED_CREDENTIALS_FILE", write("keys", kKeyFile)}}), "");
  EXPECT_EQ(refusal_to_start(with(with_keys({{"RESTANTE_BLOBS", "s3"}})), {}), "");
}

TEST_F(S3File, ABucketThatIsOnlyConfiguredWithoutKeysGivesAWarning) {
  const std::string empty = write("keys", "[other]\n");
  const Config config = with(bucket_and({{"RESTANTE_S3_CREDENTIALS_FILE", empty}}));
  EXPECT_EQ(refusal_to_start(config, {}), "");
  EXPECT_THAT(warnings(config), Contains(AllOf(HasSubstr("bucket mail is set up"), HasSubstr(empty))));
  EXPECT_THAT(warnings(with(with_keys({}))), IsEmpty());
  EXPECT_EQ(refusal_to_start(with({}), {}), "") << "S3 is not configured";
}

TEST_F(S3File, TheFileOfTheAwsToolsMustBeAsPrivateAsOurOwn) {
  std::filesystem::create_directory(folder_ / ".aws");
  const std::string file = write(".aws/credentials", kKeyFile, 0604);
  for (const Variables& variables : {Variables{{"AWS_SHARED_CREDENTIALS_FILE", file}}, {{"HOME", folder_.string()}}}) {
    for (const char* blobs : {"s3", "dir"}) {
      EXPECT_THAT(refusal_to_start(with(bucket_and({{"RESTANTE_BLOBS", blobs}})), variables),
                  AllOf(HasSubstr(file), HasSubstr("all users of this machine can read")));
    }
    EXPECT_EQ(refusal_to_start(with(with_keys({})), variables), "") << "it is not looked at";
    EXPECT_EQ(refusal_to_start(with({}), variables), "");
  }
  ::chmod(file.c_str(), 0640);
  EXPECT_EQ(refusal_to_start(with(bucket_and({{"RESTANTE_BLOBS", "s3"}})), {{"HOME", folder_.string()}}), "");
}

TEST(S3Settings, ASecretHasNoFlag) {
  const ConfigSources sources{{}, bucket_and({}), {{"s3.secret_key", "hunter2horse", "--set"}}};
  EXPECT_THAT(refusal_of(sources), AllOf(HasSubstr("RESTANTE_S3_SECRET_KEY"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace restante
