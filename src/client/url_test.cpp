#include "client/url.h"

#include <gtest/gtest.h>

namespace restante::client {
namespace {

TEST(Url, SplitsAnAddressIntoItsParts) {
  const auto url = parse_url("https://Example.COM:8443/restante/").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "example.com");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/restante");
  EXPECT_EQ(url.text(), "https://example.com:8443/restante");
}

TEST(Url, TheSchemesDefaultPortIsOmitted) {
  EXPECT_EQ(parse_url("http://a:80").value().authority(), "a");
  EXPECT_EQ(parse_url("https://a").value().host_and_port(), "a:443");
  EXPECT_EQ(parse_url("http://a:443").value().authority(), "a:443");
}

TEST(Url, AnIpv6AddressKeepsItsBracketsOnlyInText) {
  const auto url = parse_url("http://[::1]:8080").value();
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.authority(), "[::1]:8080");
}

TEST(Url, TextThatIsNotAnAddressOfAServerIsRefused) {
  for (const char* text :
       {"", "example.com", "ftp://a", "http://", "http://:80", "http://a:0", "http://a:65536", "http://a:x",
        "http://a b", "http://a\r\nHost: b", "http://[::1", "http://a?x=1", "http://a#b", "http://a\\@b",
        "http://user@a", "http://user:pass@a", "http://[a]", "http://a_\x80"}) {
    EXPECT_EQ(parse_url(text).has_error(), true) << text;
  }
}

TEST(Url, AProxyMayHaveAUserAndNoScheme) {
  const auto proxy = parse_proxy_url("me:p%40ss@proxy:3128/").value();
  EXPECT_EQ(proxy.user_info, "me:p@ss");
  EXPECT_EQ(proxy.host_and_port(), "proxy:3128");
  EXPECT_EQ(proxy.text(), "http://proxy:3128") << "shown without the password";
}

}  // namespace
}  // namespace restante::client
