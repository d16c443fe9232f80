#include "client/probe.h"

#include <gmock/gmock.h>

#include "client/test_server.h"

namespace restante::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Probed {
  bool reached = false;
  std::vector<std::string> steps;
  std::string last;
};

Probed probed(const std::string& url, Environment environment = [](const char*) { return std::nullopt; }) {
  HttpOptions options;
  options.environment = std::move(environment);
  Probed found;
  found.reached = probe(parse_url(url).value(), options, [&](const ProbeStep& step) {
    found.steps.push_back(step.name + (step.passed ? "" : "!"));
    found.last = step.sentence;
  });
  return found;
}

TEST(Probe, APlainServerIsReachedInTwoSteps) {
  TestServer server({[](TestConnection& peer) { peer.wait_until_closed(); }});
  const auto found = probed(server.url());
  EXPECT_TRUE(found.reached);
  EXPECT_THAT(found.steps, ElementsAre("name", "connection"));
}

TEST(Probe, ANameThatDoesNotExistEndsIt) {
  const auto found = probed("http://no-such-host.invalid");
  EXPECT_FALSE(found.reached);
  EXPECT_THAT(found.steps, ElementsAre("name!"));
  EXPECT_THAT(found.last, HasSubstr("no-such-host.invalid"));
}

TEST(Probe, AClosedPortEndsIt) {
  std::string url;
  {
    url = TestServer({}).url();
  }
  const auto found = probed(url);
  EXPECT_FALSE(found.reached);
  EXPECT_THAT(found.steps, ElementsAre("name", "connection!"));
}

TEST(Probe, AServerWithoutTlsEndsIt) {
  TestServer server({[](TestConnection& peer) { peer.send("HTTP/1.1 400 Bad Request\r\n\r\n"); }});
  const auto found = probed("https://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_FALSE(found.reached);
  EXPECT_THAT(found.steps, ElementsAre("name", "connection", "tls!"));
}

TEST(Probe, AProxyOfTheEnvironmentIsNamedAndTakesTheServersPlace) {
  TestServer proxy({[](TestConnection& peer) { peer.wait_until_closed(); }});
  const auto found = probed("http://server.invalid", [&](const char* name) {
    return std::string_view(name) == "http_proxy" ? std::optional(proxy.url()) : std::nullopt;
  });
  EXPECT_TRUE(found.reached);
  EXPECT_THAT(found.steps, ElementsAre("proxy", "name", "connection"));
  EXPECT_THAT(probed("http://server.invalid", [](const char*) { return std::optional<std::string>("ftp://x"); }).steps,
              ElementsAre("proxy!"));
}

}  // namespace
}  // namespace restante::client
