#include "http/url.h"

#include <gtest/gtest.h>

namespace restante::http {
namespace {

TEST(UrlParts, EveryPartIsFoundWithItsDelimiter) {
  const auto url = split_url("HTTPS://me:p%40@Example.ORG:8443/a//b?c=/d?#e#f?");
  EXPECT_EQ(url.scheme, "https");
  EXPECT_TRUE(url.is_http() && url.tls());
  EXPECT_EQ(url.user_info, "me:p%40");
  EXPECT_EQ(url.host, "example.org");
  EXPECT_FALSE(url.bracketed);
  EXPECT_EQ(url.port, ":8443");
  EXPECT_EQ(url.port_number(), 8443);
  EXPECT_EQ(url.path, "/a//b");
  EXPECT_EQ(url.query, "?c=/d?");
  EXPECT_EQ(url.fragment, "#e#f?");
}

TEST(UrlParts, WhatIsNotThereIsEmpty) {
  const auto url = split_url("host");
  EXPECT_FALSE(url.scheme || url.user_info || url.is_http());
  EXPECT_EQ(url.host, "host");
  EXPECT_TRUE(url.port.empty() && url.path.empty() && url.query.empty() && url.fragment.empty());
  EXPECT_EQ(split_url("://a").scheme, "") << "not the same as none";
  EXPECT_EQ(split_url("http://@a").user_info, "") << "not the same as none";
  EXPECT_EQ(split_url("").host, "");
}

TEST(UrlParts, AnAtSignOrAColonAfterTheAuthorityDelimitsNothing) {
  for (const char* text : {"http://a/x@b:1", "http://a?x@b:1", "http://a#x@b:1"}) {
    const auto url = split_url(text);
    EXPECT_EQ(url.host, "a") << text;
    EXPECT_FALSE(url.user_info) << text;
    EXPECT_TRUE(url.port.empty()) << text;
  }
  EXPECT_EQ(split_url("http://a@b@c").host, "c") << "the last one counts";
}

TEST(UrlParts, BracketsEndTheHost) {
  const auto url = split_url("http://[FE80::1]:80/");
  EXPECT_TRUE(url.bracketed);
  EXPECT_EQ(url.host, "fe80::1");
  EXPECT_EQ(url.port, ":80");
  EXPECT_EQ(split_url("http://[::1]x").port, "x");
  EXPECT_FALSE(split_url("http://[::1]x").port_number());
  EXPECT_EQ(split_url("http://[::1").host, "") << "they are not closed";
}

TEST(UrlParts, APortIsANumberFrom1To65535) {
  EXPECT_EQ(split_url("http://a").port_number(), 80);
  EXPECT_EQ(split_url("https://a").port_number(), 443);
  EXPECT_EQ(split_url("http://a:65535").port_number(), 65535);
  for (const char* port : {":", ":0", ":65536", ":x", ":+1", ":1:1"}) {
    EXPECT_FALSE(split_url("http://a" + std::string(port)).port_number()) << port;
  }
}

TEST(UrlParts, AnAuthorityHasBracketsAndAPortWhereTheyAreNeeded) {
  EXPECT_EQ(authority_of(false, "a", 80), "a");
  EXPECT_EQ(authority_of(true, "a", 80), "a:80");
  EXPECT_EQ(authority_of(true, "::1", 443), "[::1]");
}

}  // namespace
}  // namespace restante::http
