#include "server/config/values.h"

#include <gmock/gmock.h>

#include "base/test_rows.h"

namespace restante {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

std::chrono::milliseconds duration(const std::string& text) { return read_duration(BareText{text}); }

TEST(ConfigValues, DurationsHaveAUnit) {
  expect_rows<std::chrono::milliseconds>(duration, {{"250ms", 250ms},
                                                    {"10s", 10s},
                                                    {"30m", 30min},
                                                    {"24h", 24h},
                                                    {"7d", 168h},
                                                    {"0s", 0s},
                                                    {"-1s", -1s},
                                                    {"007s", 7s}});
}

TEST(ConfigValues, TextThatIsNotADurationIsRefused) {
  for (const auto* text :
       {"", "10", "s", "-", "-s", "10 s", " 10s", "10s ", "1.5s", "10S", "+1s", "1h30m", "10sec", "--1s",
        "9223372036854775807h", "99999999999999999999s", "9999999d", "-9999999d", "1\xc2\xb5s"}) {
    EXPECT_THROW(duration(text), BadValue) << text;
  }
  EXPECT_THROW(read_duration(std::int64_t{10}), BadValue);
  EXPECT_THROW(read_duration(true), BadValue);
}

TEST(ConfigValues, DurationsPrintInTheLargestExactUnit) {
  for (const auto* text : {"0s", "1ms", "1500ms", "75s", "30m", "24h", "168h"})
    EXPECT_EQ(print_duration(duration(text)), text);
  EXPECT_EQ(print_duration(120s), "2m");
}

TEST(ConfigValues, NumbersAreWholeAndInRange) {
  EXPECT_EQ(read_number(BareText{"5"}, 1, 5), 5u);
  EXPECT_EQ(read_number(std::int64_t{1}, 1, 5), 1u);
  for (const auto* text : {"", "0", "6", "-1", "+1", " 1", "1 ", "0x1", "1e0", "1.0", "18446744073709551617", "one"}) {
    EXPECT_THROW(read_number(BareText{text}, 1, 5), BadValue) << text;
  }
  EXPECT_THROW(read_number(std::int64_t{-1}, 0, ~0ull), BadValue);
  EXPECT_THROW(read_number(std::string("3"), 1, 5), BadValue) << "a string in TOML is no number";
}

TEST(ConfigValues, ListsOfBareTextAreSplitAtCommasAndOthersAreNot) {
  EXPECT_THAT(read_list(BareText{"a, b ,c"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(read_list(BareText{""}), IsEmpty());
  EXPECT_THAT(read_list(std::string("a,b")), ElementsAre("a,b"));
  EXPECT_THAT(read_list(std::vector<std::string>{"x", "y"}), ElementsAre("x", "y"));
  for (const auto* text : {",", "a,", ",a", "a,,b", " "}) EXPECT_THROW(read_list(BareText{text}), BadValue) << text;
  EXPECT_THROW(read_list(std::vector<std::string>{""}), BadValue);
  EXPECT_THROW(read_list(std::vector<std::string>{std::string("10.0.0.1\0x", 10)}), BadValue);
}

TEST(ConfigValues, EndpointsAreLiteralAddressesWithAPort) {
  EXPECT_EQ(parse_endpoint("0.0.0.0:0").port, 0);
  EXPECT_EQ(parse_endpoint("[::1]:65535").host, "::1");
  EXPECT_EQ(parse_endpoint("[::1]:65535").port, 65535);
  for (const auto* text : {"",
                           ":",
                           ":80",
                           "80",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:x",
                           "localhost:80",
                           "example.org:80",
                           "::1",
                           "::1:80",
                           "[::1]",
                           "[::1]:",
                           "[::1]80",
                           "[::1",
                           "[127.0.0.1]:80",
                           "127.0.0.1:80:80",
                           "1.2.3:80",
                           "256.0.0.1:80",
                           " 127.0.0.1:80",
                           "[::1%lo]:80",
                           "http://127.0.0.1:80"}) {
    EXPECT_THROW(parse_endpoint(text), BadValue) << text;
  }
  EXPECT_EQ(print_endpoint({"::1", 80}), "[::1]:80");
  EXPECT_EQ(print_endpoint({"10.0.0.1", 80}), "10.0.0.1:80");
}

TEST(ConfigValues, NetworksAreAddressesOrCidr) {
  for (const auto* text : {"10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::1", "fd00::/8", "::/128"})
    EXPECT_EQ(parse_network(text), text);
  for (const auto* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "proxy", "10.0.0/8"}) {
    EXPECT_THROW(parse_network(text), BadValue) << text;
  }
}

TEST(ConfigValues, HostsAreNamesWithoutSchemeOrWildcard) {
  EXPECT_EQ(parse_host("Post.Example.ORG:8443"), "post.example.org:8443");
  EXPECT_EQ(parse_host("[::1]:80"), "[::1]:80");
  for (const auto* text :
       {"", "*", "*.example.org", "https://x", "a/b", "a b", "a:", "a:0", "a:70000", ".a", "a@b", "[x]"}) {
    EXPECT_THROW(parse_host(text), BadValue) << text;
  }
}

TEST(ConfigValues, APublicUrlIsOnlySchemeAndHost) {
  EXPECT_EQ(parse_public_url(""), "");
  EXPECT_EQ(parse_public_url("https://Post.example.org/"), "https://post.example.org");
  EXPECT_EQ(parse_public_url("http://[::1]:80"), "http://[::1]:80");
  for (const auto* text :
       {"post.example.org", "ftp://x", "https://", "https:///", "https://x/y", "https://x?y", "https://x#y",
        "https://u:p@x", "https://x:y", "javascript:alert(1)", "https://x//", "https://*"}) {
    EXPECT_THROW(parse_public_url(text), BadValue) << text;
  }
}

TEST(ConfigValues, LoopbackIsTheWholeNetworkAndItsMappedForm) {
  for (const auto* host : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1", "localhost", "a.localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const auto* host : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::ffff:10.0.0.1", "localhost.example.org", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(ConfigValues, TomlStringsEscapeWhatTomlDoesNotAllow) {
  EXPECT_EQ(toml_string("a\"b\\c\nd\x7f"), R"("a\"b\\c\u000Ad\u007F")");
  EXPECT_EQ(toml_list({"a", "b"}), R"(["a", "b"])");
  EXPECT_EQ(toml_list({}), "[]");
}

}  // namespace
}  // namespace restante
