#include "client/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace restante::client {
namespace {

Environment given(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string chosen(const char* server, std::map<std::string, std::string> variables) {
  const auto proxy = choose_proxy(parse_url(server).value(), given(std::move(variables)));
  if (proxy.has_error()) return "error";
  return *proxy ? (*proxy)->text() : "direct";
}

TEST(Proxy, EachSchemeHasItsVariable) {
  const std::map<std::string, std::string> both{{"http_proxy", "http://plain:1"}, {"HTTPS_PROXY", "http://secure:2"}};
  EXPECT_EQ(chosen("http://example.com", both), "http://plain:1");
  EXPECT_EQ(chosen("https://example.com", both), "http://secure:2");
  EXPECT_EQ(chosen("https://example.com", {{"http_proxy", "http://plain:1"}}), "direct");
  EXPECT_EQ(chosen("https://example.com", {{"ALL_PROXY", "any:3"}}), "http://any:3");
}

TEST(Proxy, TheLowerCaseNameCountsFirstAndAnEmptyValueDoesNot) {
  EXPECT_EQ(chosen("https://e.com", {{"https_proxy", "http://a:1"}, {"HTTPS_PROXY", "http://b:2"}}), "http://a:1");
  EXPECT_EQ(chosen("https://e.com", {{"https_proxy", ""}, {"HTTPS_PROXY", "http://b:2"}}), "http://b:2");
}

TEST(Proxy, UnderCgiTheCapitalNameIsIgnored) {
  EXPECT_EQ(chosen("http://e.com", {{"HTTP_PROXY", "http://evil:1"}, {"REQUEST_METHOD", "GET"}}), "direct");
}

TEST(Proxy, LoopbackIsNeverProxied) {
  for (const char* server : {"http://127.0.0.1:8080", "http://localhost", "http://[::1]:1", "http://127.8.8.8"}) {
    EXPECT_EQ(chosen(server, {{"http_proxy", "http://p:1"}}), "direct") << server;
  }
}

TEST(Proxy, AnInvalidProxyIsAnErrorAndNotBypassed) {
  EXPECT_EQ(chosen("http://e.com", {{"http_proxy", "socks5://p:1080"}}), "error");
  EXPECT_EQ(chosen("http://e.com", {{"http_proxy", "https://p:443"}}), "error");
}

TEST(Proxy, NoProxyNamesHostsDomainsAddressesAndRanges) {
  const auto exempt = [](const char* server, const char* list) { return is_exempt(parse_url(server).value(), list); };
  EXPECT_TRUE(exempt("http://a.example.com", "example.com"));
  EXPECT_TRUE(exempt("http://example.com", "x, example.com"));
  EXPECT_TRUE(exempt("http://a.example.com", ".Example.com"));
  EXPECT_TRUE(exempt("http://a.example.com", "*.example.com"));
  EXPECT_FALSE(exempt("http://notexample.com", "example.com"));
  EXPECT_FALSE(exempt("http://example.com.evil", "example.com"));
  EXPECT_TRUE(exempt("http://anything", "*"));
  EXPECT_TRUE(exempt("http://10.1.2.3", "10.0.0.0/8"));
  EXPECT_FALSE(exempt("http://11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(exempt("http://[fd00::5]", "fd00::/16"));
  EXPECT_TRUE(exempt("http://10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(exempt("http://10.1.2.30", "10.1.2.3"));
  EXPECT_TRUE(exempt("http://a:8080", "a:8080"));
  EXPECT_FALSE(exempt("http://a:8081", "a:8080"));
  EXPECT_TRUE(exempt("http://[::2]:90", "[::2]:90"));
  EXPECT_FALSE(exempt("http://a", ""));
  EXPECT_FALSE(exempt("http://a", ",,/,:,:80"));
}

}  // namespace
}  // namespace restante::client
