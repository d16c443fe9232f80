#include "http/callback_url.h"

#include <gtest/gtest.h>

namespace restante::http {
namespace {

using Fault = CallbackFault;

void expect_fault(std::string_view text, Fault fault) {
  const auto url = parse_callback_url(text);
  ASSERT_FALSE(url.has_value()) << text;
  EXPECT_EQ(sentence_of(url.error()), sentence_of(fault)) << text;
}

CallbackUrl parsed(std::string_view text) {
  const auto url = parse_callback_url(text);
  EXPECT_TRUE(url.has_value()) << text;
  return url.has_value() ? *url : CallbackUrl{};
}

AddressRules allowing(std::vector<const char*> networks) {
  AddressRules rules;
  for (const char* network : networks) rules.allow_networks.push_back(Network::parse(network).value());
  return rules;
}

TEST(CallbackUrl, APlainUrlIsSplitIntoItsParts) {
  const auto url = parsed("HTTPS://Agent.Example.ORG:8443/a2a/in?key=1");
  EXPECT_TRUE(url.secure);
  EXPECT_EQ(url.host, "agent.example.org");
  EXPECT_FALSE(url.literal);
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/a2a/in");
  EXPECT_EQ(url.query, "?key=1");
  EXPECT_EQ(url.authority(), "agent.example.org:8443");
  EXPECT_EQ(url.target(), "/a2a/in?key=1");
  EXPECT_EQ(url.text(), "https://agent.example.org:8443/a2a/in?key=1");
}

TEST(CallbackUrl, TheSchemesOwnPortIsNotWrittenOut) {
  EXPECT_EQ(parsed("http://agent.example:80").text(), "http://agent.example");
  EXPECT_EQ(parsed("https://agent.example:443/").text(), "https://agent.example/");
  EXPECT_EQ(parsed("http://agent.example:443").text(), "http://agent.example:443");
  EXPECT_EQ(parsed("http://agent.example").target(), "/");
  EXPECT_EQ(parsed("http://agent.example?x").target(), "/?x");
}

TEST(CallbackUrl, AddressesAreLiteralsInBothFamilies) {
  const auto four = parsed("http://203.0.113.7:8080/x");
  EXPECT_TRUE(four.literal);
  EXPECT_EQ(four.host, "203.0.113.7");
  const auto six = parsed("http://[2001:DB8::7]:8080/x");
  EXPECT_TRUE(six.literal);
  EXPECT_EQ(six.host, "2001:db8::7");
  EXPECT_EQ(six.authority(), "[2001:db8::7]:8080");
}

TEST(CallbackUrl, OnlyHttpAndHttpsAreAllowed) {
  for (const char* text : {"file:///etc/passwd", "gopher://a.example", "ftp://a.example", "data:text/plain,x",
                           "unix:/run/x.sock", "//a.example", "a.example", "", "http:/a.example", "http:a.example"}) {
    expect_fault(text, Fault::bad_scheme);
  }
}

TEST(CallbackUrl, CredentialsAndFragmentsAreRefused) {
  expect_fault("http://user:pass@a.example/", Fault::credentials);
  expect_fault("http://a.example@b.example/", Fault::credentials);
  expect_fault("http://@b.example/", Fault::credentials);
  expect_fault("http://a.example/#top", Fault::fragment);
  expect_fault("http://a.example#@b.example/", Fault::fragment);
}

TEST(CallbackUrl, CharactersThatParsersDisagreeAboutAreRefused) {
  for (const char* text :
       {"http://a.example\\@b.example/", "http://a.example/\tx", "http://a.example/\r\nHost: b", " http://a.example",
        "http://a.example ", "http://a.example/\x7f", "http://a.example/\xc3\xa9",
        "http://127\xe3\x80\x82"
        "0.0.1/",
        "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", "http://a.example/<x>", "http://a.example/{x}"}) {
    expect_fault(text, Fault::bad_character);
  }
  expect_fault(std::string_view("http://a.example/\0x", 19), Fault::bad_character);
  expect_fault("http://a.example/%zz", Fault::bad_escape);
  expect_fault("http://a.example/%4", Fault::bad_escape);
}

TEST(CallbackUrl, ANumberIsNoHost) {
  for (const char* host : {"127.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "127.0.0.01", "1.2.3.4.5",
                           "256.1.1.1", "0x7f.1", "a.0x1", "0x", "1"}) {
    expect_fault("http://" + std::string(host) + "/", Fault::numeric_host);
  }
}

TEST(CallbackUrl, LocalhostIsRefusedByName) {
  for (const char* host : {"localhost", "LOCALHOST", "agent.localhost", "a.b.LocalHost"}) {
    expect_fault("http://" + std::string(host) + ":8000/", Fault::local_host);
  }
  EXPECT_EQ(parsed("http://localhost.example/").host, "localhost.example");
}

TEST(CallbackUrl, AHostIsANameOrAnAddress) {
  for (const char* host : {"", ".", "a..b", ".a", "a.", "localhost.", "-a.example", "a-.example", "a%2eexample", "a,b",
                           "[::1", "[::1]x", "[fe80::1%25eth0]", "[1.2.3.4]", "[]", "a!b", "*.example"}) {
    expect_fault("http://" + std::string(host) + "/", Fault::bad_host);
  }
  expect_fault("http://" + std::string(64, 'a') + ".example/", Fault::bad_host);
  std::string long_name = "a";
  while (long_name.size() < 254) long_name += ".a";
  expect_fault("http://" + long_name + "/", Fault::bad_host);
  EXPECT_EQ(parsed("http://my_agent:80/").host, "my_agent");
}

TEST(CallbackUrl, APortIsANumberWithoutDecoration) {
  for (const char* port : {"", "0", "65536", "080", "+80", "8o", "80:80", "99999999999999999999"}) {
    expect_fault("http://a.example:" + std::string(port) + "/", Fault::bad_port);
  }
  expect_fault("http://[2001:db8::1]:/", Fault::bad_port);
}

TEST(CallbackUrl, TheLengthIsBounded) {
  const std::string base = "http://a.example/";
  EXPECT_TRUE(parse_callback_url(base + std::string(2048 - base.size(), 'x')).has_value());
  expect_fault(base + std::string(2049 - base.size(), 'x'), Fault::too_long);
}

TEST(AddressRules, EightyAndFourFourThreeArePortsAndOthersByConfiguration) {
  AddressRules rules;
  EXPECT_TRUE(rules.may_use_port(80));
  EXPECT_TRUE(rules.may_use_port(443));
  for (const std::uint16_t port : {22, 25, 6379, 8080}) EXPECT_FALSE(rules.may_use_port(port)) << port;
  rules.allow_ports = {8080};
  EXPECT_TRUE(rules.may_use_port(8080));
  EXPECT_FALSE(rules.may_use_port(8081));
}

TEST(AddressRules, PublicAddressesMayBeCalled) {
  const AddressRules rules;
  for (const char* address :
       {"1.1.1.1", "8.8.8.8", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1",
        "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.254", "2600::1", "2a00:1450::1", "2001:200::1",
        "2003::1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"}) {
    EXPECT_TRUE(rules.may_connect(address)) << address;
  }
}

TEST(AddressRules, EverythingThatIsNotPublicIsRefused) {
  const AddressRules rules;
  for (const char* address :
       {"0.0.0.0",     "0.1.2.3",         "10.0.0.1",        "10.255.255.255", "100.64.0.1",     "100.127.255.255",
        "127.0.0.1",   "127.255.255.255", "169.254.169.254", "172.16.0.1",     "172.31.255.255", "192.0.0.1",
        "192.0.2.1",   "192.88.99.1",     "192.168.1.1",     "198.18.0.1",     "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.1",       "239.255.255.255", "240.0.0.1",      "255.255.255.255"}) {
    EXPECT_FALSE(rules.may_connect(address)) << address;
    EXPECT_FALSE(rules.may_connect("::ffff:" + std::string(address))) << address;
    EXPECT_FALSE(rules.may_connect("64:ff9b::" + std::string(address))) << address;
  }
  for (const char* address : {"::",
                              "::1",
                              "::127.0.0.1",
                              "::8.8.8.8",
                              "fe80::1",
                              "fec0::1",
                              "fc00::1",
                              "fd12:3456::1",
                              "ff02::1",
                              "2001:db8::1",
                              "2001::1",
                              "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                              "2001:2::1",
                              "2001:10::1",
                              "2001:20::1",
                              "2002:7f00:1::1",
                              "2002:808:808::1",
                              "3fff::1",
                              "100::1",
                              "64:ff9b:1::1",
                              "64:ff9b:1::8.8.8.8",
                              "5f00::1",
                              "4000::1",
                              "::ffff:0:127.0.0.1"}) {
    EXPECT_FALSE(rules.may_connect(address)) << address;
  }
}

TEST(AddressRules, TextThatIsNotAnAddressIsRefused) {
  const AddressRules rules = allowing({"0.0.0.0/0", "::/0"});
  for (const char* text : {"", "localhost", "127.1", "fe80::1%eth0", "8.8.8.8 ", "8.8.8.8:80", "[::1]", "010.0.0.1"}) {
    EXPECT_FALSE(rules.may_connect(text)) << text;
  }
}

TEST(AddressRules, AnAllowedNetworkIsAllowedInEverySpelling) {
  const AddressRules rules = allowing({"127.0.0.0/8", "10.1.0.0/16", "fd00::/8"});
  for (const char* address : {"127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "64:ff9b::10.1.2.3", "fd00::7"}) {
    EXPECT_TRUE(rules.may_connect(address)) << address;
  }
  for (const char* address : {"10.2.0.1", "::1", "fe80::1", "192.168.0.1", "64:ff9b::10.2.0.1"}) {
    EXPECT_FALSE(rules.may_connect(address)) << address;
  }
}

}  // namespace
}  // namespace restante::http
