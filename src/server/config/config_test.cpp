#include "server/config/config.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/config/test_config.h"
#include "server/config/toml.h"
#include "server/settings/settings.h"

namespace restante {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const std::string kToken = "q3vX0b-9ZsT7uLm2JkRcW8yHnEoPaGd4fI6x_1VwQtU";

Config from_environment(std::map<std::string, std::string> environment) {
  return load_config({.file = {}, .environment = std::move(environment), .flags = {}});
}

Config from_flag(const std::string& key, const std::string& value) {
  return load_config({.file = {}, .environment = {}, .flags = {{key, value, "--set"}}});
}

std::string refused_flag(const std::string& key, const std::string& value) {
  return refusal([&] { from_flag(key, value); });
}

TEST(Config, WithoutSourcesTheDefaultsApply) {
  const auto config = load_config({});
  EXPECT_EQ(config.data, "data");
  EXPECT_EQ(config.blobs, "dir");
  EXPECT_EQ(config.database, "");
  EXPECT_FALSE(config.open_registration);
  EXPECT_TRUE(config.migrate);
  ASSERT_THAT(config.net.listen, SizeIs(1));
  EXPECT_EQ(config.net.listen[0].host, "127.0.0.1");
  EXPECT_EQ(config.net.listen[0].port, 8080);
  EXPECT_EQ(config.log.level, LogLevel::info);
  EXPECT_EQ(config.net.log_requests, net::LogRequests::errors);
  EXPECT_EQ(config.uploads.per_file_bytes, 26'214'400u);
  EXPECT_EQ(config.uploads.ttl, 24h);
  EXPECT_EQ(config.uploads.ack_retention, 1h);
  EXPECT_THAT(config.origins, IsEmpty());
  EXPECT_THAT(warnings(config), IsEmpty());
}

TEST_F(ConfigFiles, FlagsWinOverVariablesAndVariablesOverTheFile) {
  const auto file = write("c.toml", "data = 'file'\npublic_url = 'https://file.example'\n[log]\nlevel = 'warn'\n");
  const auto config =
      load_config({.file = file,
                   .environment = {{"RESTANTE_DATA", "variable"}, {"RESTANTE_PUBLIC_URL", "https://v.example"}},
                   .flags = {{"data", "flag", "--data"}}});
  EXPECT_EQ(config.data, "flag");
  EXPECT_EQ(config.public_url, "https://v.example");
  EXPECT_EQ(config.log.level, LogLevel::warn);
  EXPECT_EQ(config.origins.at("data"), "--data");
  EXPECT_EQ(config.origins.at("public_url"), "RESTANTE_PUBLIC_URL");
  EXPECT_EQ(config.origins.at("log.level"), file + ":4");
}

TEST_F(ConfigFiles, TheVariableNamesTheFileUnlessAFlagDoes) {
  const auto one = write("one.toml", "data = 'one'"), two = write("two.toml", "data = 'two'");
  EXPECT_EQ(from_environment({{"RESTANTE_CONFIG", one}}).data, "one");
  EXPECT_EQ(load_config({.file = two, .environment = {{"RESTANTE_CONFIG", one}}, .flags = {}}).data, "two");
  EXPECT_THAT(refusal([] { from_environment({{"RESTANTE_CONFIG", ""}}); }), HasSubstr("RESTANTE_CONFIG is empty"));
}

TEST_F(ConfigFiles, EveryGroupIsReadFromAFile) {
  const auto config = from_file(R"(
listen = ["127.0.0.1:0", "[::1]:81"]
trusted_proxies = ["10.0.0.0/8", "::1"]
allowed_hosts = "Post.Example.org"
[threads]
io = 3
[limits]
json_body = 77
polls_per_token = 2
[timeouts]
header = "250ms"
min_rate = 5
[uploads]
per_request_bytes = 30_000_000
ttl = "7d"
[log]
requests = "all"
)");
  ASSERT_THAT(config.net.listen, SizeIs(2));
  EXPECT_EQ(config.net.listen[1].host, "::1");
  EXPECT_EQ(config.net.listen[1].port, 81);
  EXPECT_THAT(config.trusted_proxies, ElementsAre("10.0.0.0/8", "::1"));
  ASSERT_THAT(config.net.trusted_proxies, SizeIs(2));
  EXPECT_TRUE(config.net.trusted_proxies[0].contains("10.1.2.3"));
  EXPECT_THAT(config.allowed_hosts, ElementsAre("post.example.org"));
  EXPECT_EQ(config.net.io_threads, 3u);
  EXPECT_EQ(config.net.limits.json_body, 77u);
  EXPECT_EQ(config.net.parked_per_owner, 2u);
  EXPECT_EQ(config.net.timeouts.header, 250ms);
  EXPECT_EQ(config.net.min_rate, 5u);
  EXPECT_EQ(config.net.limits.stream_body, 30'000'000u) << "the edge enforces the limit of an upload";
  EXPECT_EQ(config.uploads.ttl, 168h);
  EXPECT_EQ(config.net.log_requests, net::LogRequests::all);
}

TEST(Config, VariablesAreNamedAfterTheirKeysAndListsHaveCommas) {
  const auto config = from_environment({{"RESTANTE_TIMEOUTS_HEADER", "3s"},
                                        {"RESTANTE_LISTEN", "127.0.0.1:1, [::1]:2"},
                                        {"RESTANTE_OPEN_REGISTRATION", "true"},
                                        {"RESTANTE_THREADS_POOL", "4"},
                                        {"HOME", "/nowhere"}});
  EXPECT_EQ(config.net.timeouts.header, 3s);
  EXPECT_THAT(config.net.listen, SizeIs(2));
  EXPECT_TRUE(config.open_registration);
  EXPECT_EQ(config.net.pool_threads, 4u);
}

TEST_F(ConfigFiles, AnUnknownKeyIsRefusedWithItsLineAndTheNearestOne) {
  EXPECT_THAT(
      refusal([&] { from_file("data = 'x'\n[timeouts]\nheadr = '1s'\n"); }),
      AllOf(HasSubstr("\"timeouts.headr\""), HasSubstr("c.toml:3"), HasSubstr("did you mean timeouts.header?")));
  EXPECT_THAT(refusal([&] { from_file("header = '1s'"); }), HasSubstr("did you mean timeouts.header?"));
  EXPECT_THAT(refusal([&] { from_file("[frobnicate]\nx = 1"); }),
              AllOf(HasSubstr("frobnicate"), HasSubstr("remove it")));
  EXPECT_THAT(refusal([&] { from_file("\"timeouts.header\" = '1s'"); }), HasSubstr("without quotes"));
  EXPECT_THAT(refused_flag("log.levle", "warn"), AllOf(HasSubstr("--set"), HasSubstr("did you mean log.level?")));
}

TEST(Config, AnUnknownVariableIsRefusedWithTheNearestOneButKnownOnesAreIgnored) {
  EXPECT_THAT(refusal([] { from_environment({{"RESTANTE_LOGLEVEL", "warn"}}); }),
              AllOf(HasSubstr("RESTANTE_LOGLEVEL"), HasSubstr("did you mean RESTANTE_LOG_LEVEL?")));
  EXPECT_EQ(refusal([] {
              from_environment(
                  {{"RESTANTE_URL", "x"}, {"RESTANTE_TOKEN", "x"}, {"RESTANTE_BINARY", "x"}, {"RESTANTE_SOURCE", "x"}});
            }),
            "");
}

TEST_F(ConfigFiles, AKeyThatIsSetTwiceIsRefused) {
  EXPECT_THAT(refusal([&] { from_file("data = 'a'\n\ndata = 'b'\n"); }),
              AllOf(HasSubstr("\"data\""), HasSubstr("c.toml:3"), HasSubstr("second time")));
  EXPECT_THAT(refusal([&] { from_file("[tls]\n[log]\n[tls]\n"); }), AllOf(HasSubstr("\"tls\""), HasSubstr("c.toml:3")));
  EXPECT_THAT(refusal([&] { from_file("[timeouts]\nidle = '1s'\nidle = '2s'\n"); }), HasSubstr("idle"));
  const ConfigSources twice{.file = {}, .environment = {}, .flags = {{"data", "a", "--data"}, {"data", "b", "--set"}}};
  EXPECT_THAT(refusal([&] { load_config(twice); }), HasSubstr("data is set a second time by --set"));
}

TEST_F(ConfigFiles, AWrongTypeIsRefusedWithWhatItMustBe) {
  EXPECT_THAT(refusal([&] { from_file("[timeouts]\nheader = 10"); }),
              AllOf(HasSubstr("c.toml:2"), HasSubstr("\"10s\"")));
  EXPECT_THAT(refusal([&] { from_file("migrate = 'yes'"); }), HasSubstr("true or false"));
  EXPECT_THAT(refusal([&] { from_file("migrate = 1"); }), HasSubstr("true or false"));
  EXPECT_THAT(refusal([&] { from_file("data = 3"); }), HasSubstr("a string"));
  EXPECT_THAT(refusal([&] { from_file("listen = [1]"); }), HasSubstr("a list of strings"));
  EXPECT_THAT(refusal([&] { from_file("data = ['a']"); }), HasSubstr("a string"));
  EXPECT_THAT(refusal([&] { from_file("[limits]\njson_body = 1.5"); }), HasSubstr("a whole number"));
  EXPECT_THAT(refusal([&] { from_file("[limits]\njson_body = '5'"); }), HasSubstr("a whole number"));
  EXPECT_THAT(refusal([&] { from_file("[data]\nx = 1"); }), HasSubstr("not a table"));
  EXPECT_THAT(refusal([&] { from_file("tls = true"); }), HasSubstr("a group of settings"));
  EXPECT_THAT(refusal([&] { from_file("[[tls]]\nkey = 'a'"); }), HasSubstr("a group of settings"));
  EXPECT_THAT(refusal([&] { from_file("data = 1979-05-27"); }), HasSubstr("date"));
}

TEST_F(ConfigFiles, InvalidTomlIsRefusedWithItsLine) {
  EXPECT_THAT(refusal([&] { from_file("data = 'x'\nlisten = \n"); }),
              AllOf(HasSubstr("c.toml:2"), HasSubstr("not valid TOML")));
  EXPECT_THAT(refusal([&] { from_file("data = \"\xff\"\n"); }), HasSubstr("not valid TOML"));
  EXPECT_THAT(refusal([&] { from_file("listen = " + std::string(100'000, '[')); }), HasSubstr("not valid TOML"));
}

TEST_F(ConfigFiles, AFileThatCannotBeReadIsRefused) {
  const auto load = [](const std::string& path) {
    return refusal([&] { load_config({.file = path, .environment = {}, .flags = {}}); });
  };
  EXPECT_THAT(load((folder_ / "absent.toml").string()), AllOf(HasSubstr("absent.toml"), HasSubstr("No such file")));
  EXPECT_THAT(load(folder_.string()), HasSubstr("cannot read"));
  EXPECT_THAT(load("/dev/zero"), HasSubstr("larger than 1 MiB"));
}

TEST(Config, AMessageIsOneLineForEveryValue) {
  EXPECT_THAT(refused_flag("log.level", "a\nb\x1b[31m"), AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(refused_flag("x\ny", "1"), Not(HasSubstr("\n")));
  EXPECT_LT(refused_flag("log.level", std::string(100'000, 'x')).size(), 400u);
}

TEST(Config, LimitsOfZeroAreRefusedUnlessZeroMeansAutomatic) {
  for (const auto* key :
       {"limits.request_line", "limits.header_bytes", "limits.header_count", "limits.json_body",
        "limits.connections_per_address", "limits.polls_per_token", "threads.pool", "timeouts.min_rate",
        "uploads.per_file_bytes", "uploads.per_request_bytes", "uploads.max_files"}) {
    EXPECT_THAT(refused_flag(key, "0"), AllOf(HasSubstr(key), HasSubstr("whole number from"))) << key;
    EXPECT_THAT(refused_flag(key, "-1"), HasSubstr(key));
    EXPECT_THAT(refused_flag(key, "99999999999999999999999"), HasSubstr(key));
  }
  for (const auto* key : {"timeouts.header", "timeouts.idle", "timeouts.body_grace", "timeouts.write_stall",
                          "timeouts.request", "uploads.ttl"}) {
    EXPECT_THAT(refused_flag(key, "0s"), HasSubstr(key)) << key;
  }
  EXPECT_EQ(refused_flag("limits.connections", "0"), "");
  EXPECT_EQ(refused_flag("threads.io", "0"), "");
}

TEST(Config, AnUploadOfOneFileMayOnlyBeLowered) {
  EXPECT_EQ(from_flag("uploads.per_file_bytes", "1000").uploads.per_file_bytes, 1000u);
  EXPECT_EQ(refused_flag("uploads.per_file_bytes", "26214400"), "");
  EXPECT_THAT(refused_flag("uploads.per_file_bytes", "26214401"), HasSubstr("may only be lowered"));
}

TEST(Config, ARequestSmallerThanItsLargestFileIsRefused) {
  EXPECT_THAT(refused_flag("uploads.per_request_bytes", "26214399"), HasSubstr("uploads.per_file_bytes (the default)"));
  EXPECT_EQ(refused_flag("uploads.per_request_bytes", "26214400"), "");
}

TEST(Config, RetentionAboveTheTtlIsRefusedAndNegativeIsZero) {
  EXPECT_THAT(refused_flag("uploads.ack_retention", "25h"),
              AllOf(HasSubstr("uploads.ack_retention"), HasSubstr("--set"), HasSubstr("uploads.ttl (the default)")));
  EXPECT_THAT(refused_flag("uploads.ttl", "59m"), HasSubstr("uploads.ttl in --set"));
  EXPECT_EQ(refused_flag("uploads.ack_retention", "24h"), "");
  EXPECT_EQ(from_flag("uploads.ack_retention", "-1s").uploads.ack_retention, 0s);
  EXPECT_THAT(refused_flag("uploads.ack_retention", "1500ms"), HasSubstr("whole seconds"));
}

TEST(Config, InboxRowsAreNotKeptForLessThanTheLongestDeadlineOfATask) {
  EXPECT_THAT(refused_flag("activity.retention", "29d"),
              AllOf(HasSubstr("activity.retention in --set"), HasSubstr("delegations.longest_deadline (the default)")));
  EXPECT_THAT(refused_flag("delegations.longest_deadline", "2161h"), HasSubstr("activity.retention (the default)"));
  EXPECT_THAT(refused_flag("delegations.deadline", "2161h"),
              AllOf(HasSubstr("activity.retention (the default)"), HasSubstr("delegations.deadline in --set")));
  EXPECT_EQ(refused_flag("activity.retention", "30d"), "");
}

TEST(Config, TheWatchdogEndsNoServerThatOnlyWaitsForItsDatabase) {
  EXPECT_THAT(refused_flag("watchdog.end_after", "59s"), HasSubstr("watchdog.stalled_after (the default)"));
  EXPECT_EQ(refused_flag("watchdog.end_after", "60s"), "");
  EXPECT_EQ(refused_flag("watchdog.end_after", "0s"), "");
  EXPECT_EQ(refused_flag("postgres.statement_timeout", "51s"), "") << "SQLite has no such timeout";
  const auto shared = [](std::vector<ConfigFlag> flags) {
    return load_config(
        {.file = {}, .environment = {{"RESTANTE_DATABASE", "postgres://localhost/r"}}, .flags = std::move(flags)});
  };
  const ConfigFlag slow{"postgres.statement_timeout", "51s", "--set"};
  EXPECT_THAT(refusal([&] { shared({slow, {"watchdog.end_after", "5m", "--set"}}); }),
              AllOf(HasSubstr("watchdog.end_after"), HasSubstr("six times postgres.statement_timeout")));
  EXPECT_EQ(shared({slow}).watchdog.end_after, std::chrono::seconds(306)) << "one that is not set follows";
  EXPECT_EQ(shared({}).watchdog.end_after, std::chrono::minutes(5));
  EXPECT_EQ(load_config({.file = {}, .environment = {}, .flags = {{"watchdog.stalled_after", "9m", "--set"}}})
                .watchdog.end_after,
            std::chrono::minutes(9));
}

TEST(Config, QuotasAndTheReserveMayBeSwitchedOffAndAckedContentIsAChoice) {
  const Config usual = load_config({});
  EXPECT_EQ(usual.uploads.quota_bytes, 4ull << 30);
  EXPECT_EQ(usual.uploads.quota_files, 10'000u);
  EXPECT_EQ(usual.storage.reserve, 512ull << 20);
  EXPECT_EQ(usual.uploads.sweep_every, 5min);
  EXPECT_EQ(usual.uploads.check_every, 24h);
  EXPECT_EQ(usual.uploads.check_rate, 1u << 20);
  EXPECT_TRUE(usual.uploads.staging);
  for (const auto* key : {"uploads.quota_bytes", "uploads.quota_files", "storage.reserve"}) {
    EXPECT_EQ(refused_flag(key, "0"), "") << key;
    EXPECT_THAT(refused_flag(key, "-1"), HasSubstr(key));
  }
  EXPECT_EQ(from_flag("uploads.acked_content", "everyone").uploads.acked_content, Config::AckedContent::everyone);
  EXPECT_THAT(refused_flag("uploads.acked_content", "unknown"), HasSubstr("people"));
  EXPECT_THAT(refused_flag("uploads.sweep_every", "0s"), HasSubstr("uploads.sweep_every"));
  EXPECT_EQ(from_flag("uploads.check_every", "0s").uploads.check_every, 0s);
  EXPECT_THAT(refused_flag("uploads.check_rate", "0"), HasSubstr("uploads.check_rate"));
}

TEST(Config, OnlyKnownStoresAreAcceptedAndNoPasswordIsRepeated) {
  EXPECT_EQ(from_flag("database", "sqlite:///var/x.db").database, "sqlite:///var/x.db");
  EXPECT_FALSE(is_shared(from_flag("database", "sqlite:///var/x.db")));
  for (const std::string url : {"postgres://u:hunter2@h:5433/db", "postgresql://h/db?user=u&password=hunter2&port=1"}) {
    const Config config = from_flag("database", url);
    EXPECT_EQ(config.database, url);
    EXPECT_TRUE(is_shared(config));
    EXPECT_THAT(print_config(config), AllOf(HasSubstr("********"), Not(HasSubstr("hunter2"))));
  }
  EXPECT_THAT(print_config(from_flag("database", "postgres://u@h:5433/db")), HasSubstr("\"postgres://u@h:5433/db\""));
  EXPECT_THAT(refused_flag("database", "mysql://u:hunter2@h"),
              AllOf(HasSubstr("sqlite://PATH"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refused_flag("database", "sqlite://"), HasSubstr("sqlite://PATH"));
  EXPECT_THAT(refused_flag("blobs", "s3://bucket"), HasSubstr("named by s3.bucket"));
  EXPECT_EQ(from_flag("blobs", "inline").blobs, "inline");
  EXPECT_THAT(refused_flag("blobs", "dri"), HasSubstr("must be \"dir\", \"inline\" or \"s3\""));
  EXPECT_THAT(refused_flag("data", ""), HasSubstr("name a directory"));
}

TEST(Config, OpenRegistrationBeyondLoopbackIsRefused) {
  const auto with = [](const std::string& listen) {
    return refusal([&] { from_environment({{"RESTANTE_OPEN_REGISTRATION", "true"}, {"RESTANTE_LISTEN", listen}}); });
  };
  EXPECT_EQ(with("127.0.0.1:1,[::1]:1,127.9.9.9:1"), "");
  EXPECT_THAT(with("127.0.0.1:1,0.0.0.0:2"), AllOf(HasSubstr("RESTANTE_OPEN_REGISTRATION"), HasSubstr("0.0.0.0:2")));
  EXPECT_THAT(with("[::]:2"), HasSubstr("[::]:2"));
}

TEST(Config, TheAdminTokenComesFromTheEnvironmentAloneAndMustBeASecret) {
  const auto with = [](const std::string& token) {
    return refusal([&] { from_environment({{"RESTANTE_ADMIN_TOKEN", token}}); });
  };
  EXPECT_EQ(from_environment({{"RESTANTE_ADMIN_TOKEN", kToken}}).admin_token, kToken);
  EXPECT_THAT(with(""), HasSubstr("43 characters"));
  EXPECT_THAT(with(kToken + "x"), AllOf(HasSubstr("43 characters"), Not(HasSubstr(kToken))));
  EXPECT_THAT(with(kToken.substr(0, 42) + "="), HasSubstr("43 characters"));
  EXPECT_THAT(with(std::string(43, 'x')), HasSubstr("sample"));
  EXPECT_THAT(with("ChangeMe" + kToken.substr(8)), AllOf(HasSubstr("sample"), Not(HasSubstr("ChangeMe"))));
  EXPECT_THAT(with("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"), HasSubstr("sample"));
  EXPECT_THAT(refused_flag("admin_token", kToken), AllOf(HasSubstr("RESTANTE_ADMIN_TOKEN"), Not(HasSubstr(kToken))));
}

TEST(Config, TheServersKeyComesFromTheEnvironmentAloneAndMustBeASecret) {
  EXPECT_EQ(from_environment({{"RESTANTE_SERVER_KEY", kToken}}).server_key, kToken);
  EXPECT_THAT(refusal([&] { from_environment({{"RESTANTE_SERVER_KEY", "short"}}); }), HasSubstr("43 characters"));
  EXPECT_THAT(refused_flag("server_key", kToken), AllOf(HasSubstr("RESTANTE_SERVER_KEY"), Not(HasSubstr(kToken))));
}

TEST_F(ConfigFiles, TheAdminTokenInAFileIsRefused) {
  EXPECT_THAT(refusal([&] { from_file("admin_token = '" + kToken + "'"); }),
              AllOf(HasSubstr("c.toml:1"), HasSubstr("RESTANTE_ADMIN_TOKEN"), Not(HasSubstr(kToken))));
}

TEST_F(ConfigFiles, TlsNeedsBothFilesReadableAndThePrivateOnePrivate) {
  const auto certificate = write("cert.pem", "-----BEGIN CERTIFICATE-----\n", 0644),
             key = write("key.pem", "-----BEGIN\n");
  const auto with = [&](const std::string& c, const std::string& k) {
    return refusal([&] { from_file("[tls]\ncertificate = '" + c + "'\nkey = '" + k + "'\n"); });
  };
  EXPECT_EQ(with(certificate, key), "");
  EXPECT_THAT(refusal([&] { from_file("[tls]\nkey = '" + key + "'"); }),
              AllOf(HasSubstr("tls.key"), HasSubstr("c.toml:2"), HasSubstr("without tls.certificate")));
  EXPECT_THAT(refusal([&] { from_file("[tls]\ncertificate = 'x'"); }), HasSubstr("without tls.key"));
  EXPECT_THAT(with(certificate, (folder_ / "none").string()),
              AllOf(HasSubstr("tls.key in"), HasSubstr("cannot be read")));
  EXPECT_THAT(with(folder_.string(), key), AllOf(HasSubstr("tls.certificate in"), HasSubstr("not a file")));
  EXPECT_THAT(with(certificate, write("empty.pem", "")), HasSubstr("not PEM"));
  EXPECT_THAT(with(certificate, write("open.pem", "-----BEGIN\n", 0644)),
              AllOf(HasSubstr("all users"), HasSubstr("chmod")));
  EXPECT_EQ(with(certificate, write("group.pem", "-----BEGIN\n", 0640)), "");
}

TEST_F(ConfigFiles, TheMetricsTokenFileMustBePrivateAndNotShort) {
  const auto with = [&](const std::string& path) { return refused_flag("metrics.token_file", path); };
  EXPECT_EQ(with(write("token", kToken + "\n")), "");
  EXPECT_THAT(with(write("open", kToken, 0604)), HasSubstr("all users"));
  EXPECT_THAT(with(write("short", "admin\n")), AllOf(HasSubstr("fewer than 16"), Not(HasSubstr("admin"))));
  EXPECT_THAT(with((folder_ / "none").string()), HasSubstr("cannot be read"));
}

TEST(Config, APublicBindWarnsUntilTlsOrAProxyAndAPublicUrlAreSet) {
  Config config = from_flag("listen", "127.0.0.1:1,0.0.0.0:80");
  ASSERT_THAT(warnings(config), SizeIs(2));
  EXPECT_THAT(warnings(config)[0],
              AllOf(HasSubstr("0.0.0.0:80"), HasSubstr("without TLS"), HasSubstr("trusted_proxies")));
  EXPECT_THAT(warnings(config)[1], HasSubstr("public_url"));
  config.public_url = "https://post.example.org";
  EXPECT_THAT(warnings(config), SizeIs(1));
  config.trusted_proxies = {"10.0.0.1"};
  EXPECT_THAT(warnings(config), IsEmpty());
  config.trusted_proxies = {"0.0.0.0/0"};
  EXPECT_THAT(warnings(config), ElementsAre(HasSubstr("forge")));
}

TEST(Config, APublicUrlOrATrustedProxyMeansThatRequestsComeFromOtherMachines) {
  EXPECT_FALSE(behind_proxy(Config()));
  EXPECT_TRUE(behind_proxy(from_flag("public_url", "https://post.example.org")));
  EXPECT_TRUE(behind_proxy(from_flag("trusted_proxies", "127.0.0.1")));
}

TEST(Config, OpenRegistrationWarnsWhereAProxyIsTrusted) {
  Config config = from_flag("open_registration", "true");
  EXPECT_THAT(warnings(config), IsEmpty());
  config.trusted_proxies = {"127.0.0.1"};
  EXPECT_THAT(warnings(config), ElementsAre(HasSubstr("create workspaces")));
}

TEST(Config, APlainPublicUrlAndOpenRegistrationBehindOneWarn) {
  EXPECT_THAT(warnings(from_flag("public_url", "http://post.example.org:81")), ElementsAre(HasSubstr("plain http")));
  EXPECT_THAT(warnings(from_flag("public_url", "http://localhost:81")), IsEmpty());
  EXPECT_THAT(warnings(from_flag("public_url", "http://[::1]:81")), IsEmpty());
  Config config = from_flag("public_url", "https://post.example.org");
  config.open_registration = true;
  EXPECT_THAT(warnings(config), ElementsAre(HasSubstr("open_registration")));
}

TEST_F(ConfigFiles, ThePrintedConfigurationLoadsBackToTheSame) {
  const auto file =
      write("c.toml",
            "data = 'a \"quoted\" \\ path'\nlisten = ['[::1]:0', '127.0.0.1:9']\ntrusted_proxies = ['10.0.0.0/8']\n"
            "[timeouts]\nheader = '1500ms'\nrequest = '2h'\n[log]\nlevel = "
            "'debug'\n[uploads]\nttl='61s'\nack_retention='0s'\n");
  const auto first = load_config({.file = file, .environment = {}, .flags = {}});
  const auto printed = print_config(first);
  const auto second = load_config({.file = write("again.toml", printed), .environment = {}, .flags = {}});
  for (const auto& key : setting_keys()) {
    EXPECT_EQ(find_setting(key)->print(first), find_setting(key)->print(second)) << key;
  }
  EXPECT_EQ(second.data, "a \"quoted\" \\ path");
  EXPECT_THAT(printed, HasSubstr("header = \"1500ms\"  # " + file + ":5"));
}

TEST_F(ConfigFiles, SecretsArePrintedMaskedAndStillLoad) {
  const auto printed = print_config(from_environment({{"RESTANTE_ADMIN_TOKEN", kToken}}));
  EXPECT_THAT(printed, AllOf(Not(HasSubstr(kToken)), HasSubstr("RESTANTE_ADMIN_TOKEN = ****")));
  EXPECT_EQ(refusal([&] { from_file(printed); }), "");
}

TEST_F(ConfigFiles, TheExampleLoadsAsItIsAndWithEverythingUncommented) {
  EXPECT_THAT(from_file(example_config()).origins, IsEmpty());
  std::istringstream lines(example_config());
  std::string line, active;
  while (std::getline(lines, line)) {
    // A setting has no space after its #, a comment has one.
    active += (line.size() > 1 && line[0] == '#' && line[1] != ' ' ? line.substr(1) : line) + '\n';
  }
  const auto config = from_file(active);
  const Config defaults;
  EXPECT_THAT(config.origins, SizeIs(setting_keys().size()));
  for (const auto& key : setting_keys()) {
    EXPECT_EQ(find_setting(key)->print(config), find_setting(key)->print(defaults)) << key;
  }
}

TEST(Config, EverySettingCanBeGivenAsAVariableAndAsAFlag) {
  const Config defaults;
  for (const auto& setting : settings()) {
    if (setting.secret) continue;
    // Printed TOML without its quotes and brackets is what a person would type.
    std::string typed;
    for (const char c : setting.print(defaults)) typed += c == '"' || c == '[' || c == ']' ? "" : std::string(1, c);
    const auto name = environment_name(setting.key);
    EXPECT_EQ(from_environment({{name, typed}}).origins.at(setting.key), name);
    EXPECT_EQ(from_flag(setting.key, typed).origins.at(setting.key), "--set");
  }
}

TEST(Config, KeysAndVariablesAreUniqueAndEveryHelpIsASentence) {
  std::map<std::string, int> names;
  for (const auto& setting : settings()) {
    EXPECT_EQ(++names[environment_name(setting.key)], 1) << setting.key;
    EXPECT_TRUE(setting.help.ends_with('.')) << setting.key;
  }
}

}  // namespace
}  // namespace restante
