#include "http/addresses.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace restante::http {
namespace {

using namespace std::literals;
using Rows = std::vector<std::pair<std::string_view, std::string_view>>;

bool contains(std::string_view network, std::string_view address) {
  const auto parsed = Network::parse(network);
  EXPECT_TRUE(parsed) << network;
  return parsed && parsed->contains(address);
}

std::vector<Network> networks(std::initializer_list<std::string_view> texts) {
  std::vector<Network> out;
  for (const auto text : texts) out.push_back(*Network::parse(text));
  return out;
}

TEST(Addresses, ANetworkContainsItsAddresses) {
  for (const auto& [network, address] : Rows{{"10.0.0.0/8", "10.255.255.255"},
                                             {"10.1.2.3/8", "10.9.9.9"},
                                             {"172.16.0.0/12", "172.31.255.255"},
                                             {"192.0.2.7", "192.0.2.7"},
                                             {"192.0.2.6/31", "192.0.2.7"},
                                             {"0.0.0.0/0", "255.1.2.3"},
                                             {"2001:db8::/32", "2001:db8:ffff::1"},
                                             {"2001:db8::/33", "2001:db8:7fff::1"},
                                             {"::1", "::1"},
                                             {"::/0", "ffff::"}}) {
    EXPECT_TRUE(contains(network, address)) << network << " and " << address;
  }
  for (const auto& [network, address] : Rows{{"10.0.0.0/8", "11.0.0.0"},
                                             {"172.16.0.0/12", "172.32.0.0"},
                                             {"192.0.2.7", "192.0.2.6"},
                                             {"192.0.2.6/32", "192.0.2.7"},
                                             {"2001:db8::/32", "2001:db9::"},
                                             {"2001:db8::/33", "2001:db8:8000::1"}}) {
    EXPECT_FALSE(contains(network, address)) << network << " and " << address;
  }
}

TEST(Addresses, AnAddressMappedIntoIpv6CountsAsIpv4) {
  for (const auto& [network, address] :
       Rows{{"10.0.0.0/8", "::ffff:10.1.2.3"}, {"10.0.0.0/8", "::ffff:a01:203"}, {"::ffff:10.0.0.0/104", "10.1.2.3"}}) {
    EXPECT_TRUE(contains(network, address)) << network << " and " << address;
  }
  for (const auto& [network, address] :
       Rows{{"10.0.0.0/8", "::10.1.2.3"}, {"0.0.0.0/0", "2001:db8::1"}, {"10.0.0.0/8", "a00::1"}}) {
    EXPECT_FALSE(contains(network, address)) << network << " and " << address;
  }
}

TEST(Addresses, TextThatIsNotANetworkIsRefused) {
  for (const std::string_view text : {""sv,
                                      "/8"sv,
                                      "10.0.0.0/"sv,
                                      "10.0.0.0/33"sv,
                                      "10.0.0.0/-1"sv,
                                      "10.0.0.0/+8"sv,
                                      "10.0.0.0/8/8"sv,
                                      "10.0.0.0/ 8"sv,
                                      "10.0.0.0/8 "sv,
                                      "10.0.0.0/255.0.0.0"sv,
                                      "10.0.0/8"sv,
                                      "10.0.0.0.0"sv,
                                      "256.0.0.1"sv,
                                      "010.0.0.1"sv,
                                      "0x7f.1"sv,
                                      "127.1"sv,
                                      "2130706433"sv,
                                      "localhost"sv,
                                      "::1/129"sv,
                                      "::g"sv,
                                      "[::1]"sv,
                                      "[::1]/128"sv,
                                      ":::"sv,
                                      "fe80::1%eth0"sv,
                                      " 10.0.0.1"sv,
                                      "10.0.0.1:80"sv,
                                      "10.0.0.1\0"sv,
                                      "10.0.0.1\0garbage"sv,
                                      "10.0.0.1\0/8"sv,
                                      "10.0.0.0/99999999999999999999"sv}) {
    EXPECT_FALSE(Network::parse(text)) << text;
  }
  EXPECT_FALSE(Network::parse("1.2.3.4" + std::string(100, ' ')));
}

TEST(Addresses, GarbageIsInNoNetwork) {
  for (const std::string_view text : {""sv, "unknown"sv, "10.0.0.1:80"sv, "10.0.0.1 "sv, "10.0.0.1\0x"sv, "[::1]"sv}) {
    EXPECT_FALSE(contains("0.0.0.0/0", text)) << text;
    EXPECT_FALSE(contains("::/0", text)) << text;
    EXPECT_FALSE(is_loopback(text)) << text;
  }
}

TEST(Addresses, LoopbackIsAllOf127AndOne) {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(text)) << text;
  for (const char* text :
       {"126.255.255.255", "128.0.0.1", "0.0.0.0", "::", "::2", "::127.0.0.1", "::ffff:128.0.0.1", "localhost"})
    EXPECT_FALSE(is_loopback(text)) << text;
}

TEST(Addresses, APeerThatIsNotTrustedIsTheClientWhateverItClaims) {
  const auto trusted = networks({"10.0.0.0/8"});
  EXPECT_EQ(client_address("203.0.113.9", "1.2.3.4", trusted), "203.0.113.9");
  EXPECT_EQ(client_address("203.0.113.9", "10.0.0.1", trusted), "203.0.113.9");
  EXPECT_EQ(client_address("10.0.0.1", "1.2.3.4", {}), "10.0.0.1");
}

TEST(Addresses, TheClientIsTheLastAddressThatIsNotATrustedProxy) {
  const auto trusted = networks({"10.0.0.0/8", "::1"});
  EXPECT_EQ(client_address("10.0.0.1", "203.0.113.9", trusted), "203.0.113.9");
  EXPECT_EQ(client_address("::ffff:10.0.0.1", "203.0.113.9", trusted), "203.0.113.9");
  EXPECT_EQ(client_address("::1", "203.0.113.9,\t10.0.0.2 , 10.0.0.3", trusted), "203.0.113.9");
  EXPECT_EQ(client_address("10.0.0.1", "2001:db8::7", trusted), "2001:db8::7");
  // The client wrote the first two itself.
  EXPECT_EQ(client_address("10.0.0.1", "1.2.3.4, 10.0.0.9, 203.0.113.9, 10.0.0.2", trusted), "203.0.113.9");
}

TEST(Addresses, GarbageEndsTheSearchAtTheLastTrustedAddress) {
  const auto trusted = networks({"10.0.0.0/8"});
  for (const char* header : {"", " ", ",", ",,", "unknown", "_hidden", "203.0.113.9:1234", "[2001:db8::7]",
                             "203.0.113.9,", "\"203.0.113.9\"", "203.0.113.9 junk", "<script>"}) {
    EXPECT_EQ(client_address("10.0.0.1", header, trusted), "10.0.0.1") << header;
  }
  EXPECT_EQ(client_address("10.0.0.1", "1.2.3.4, junk, 10.0.0.2", trusted), "10.0.0.2");
  EXPECT_EQ(client_address("10.0.0.1", "10.0.0.3, 10.0.0.2", trusted), "10.0.0.3");
  EXPECT_EQ(client_address("", "1.2.3.4", trusted), "");
}

TEST(Addresses, AThousandEntriesAreReadFromTheEnd) {
  const auto trusted = networks({"10.0.0.0/8"});
  std::string header = "203.0.113.9";
  for (int i = 0; i < 1000; ++i) header += ", 10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250);
  EXPECT_EQ(client_address("10.0.0.1", header, trusted), "203.0.113.9");
  EXPECT_EQ(client_address("10.0.0.1", header + ", 198.51.100.1", trusted), "198.51.100.1");
  EXPECT_EQ(client_address("10.0.0.1", std::string(100'000, ','), trusted), "10.0.0.1");
}

TEST(Addresses, LimitsCountIpv4WholeAndIpv6BySixtyFourBits) {
  EXPECT_NE(limit_key("192.0.2.1"), limit_key("192.0.2.2"));
  EXPECT_EQ(limit_key("192.0.2.1"), limit_key("::ffff:192.0.2.1"));
  EXPECT_EQ(limit_key("2001:db8:1:2::1"), limit_key("2001:db8:1:2:ffff:ffff:ffff:ffff"));
  EXPECT_EQ(limit_key("2001:DB8:1:2::1"), limit_key("2001:db8:0001:0002:0::1"));
  EXPECT_NE(limit_key("2001:db8:1:2::1"), limit_key("2001:db8:1:3::1"));
  EXPECT_NE(limit_key("::1"), limit_key("127.0.0.1"));
  EXPECT_EQ(limit_key("not an address"), "not an address");
}

}  // namespace
}  // namespace restante::http
