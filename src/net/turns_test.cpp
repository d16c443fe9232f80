// Whose requests take turns on the pool: those of a verified token, or else those of an address. Never those of a text
// that a client made up.
#include <gtest/gtest.h>

#include "http/credentials.h"
#include "net/known_clients.h"
#include "net/test_edge.h"

namespace restante::net {
namespace {

// A server with four threads, of which a client has three at most. A request to /block ends when the test opens the
// gate. The guard knows two tokens: "a", with the sessions "a1" and "a2", and "b".
struct Turns : testing::Test {
  explicit Turns(std::vector<http::Network> trusted = {}) : server(options(std::move(trusted))) {
    for (const char* path : {"/block", "/ask"}) {
      http::Route route;
      route.pattern = path;
      route.admit = [](http::Request& request) -> std::optional<http::Response> {
        const std::string_view secret = http::secret_of(request);
        if (secret.starts_with("a") || secret == "b") request.client = secret.substr(0, 1);
        return std::nullopt;
      };
      route.handle = [this, blocks = std::string_view(path) == "/block"](http::Request&) {
        if (blocks) {
          begun.open();
          gate.wait();
        }
        return text("done");
      };
      server.router.add(std::move(route));
    }
    server.start();
  }

  static Options options(std::vector<http::Network> trusted) {
    Options options = test_options();
    options.io_threads = 1;
    options.trusted_proxies = std::move(trusted);
    return options;
  }

  // Sends so many requests that would have all threads if each had its own turns. Returns when three of them run.
  template <class Headers>
  void block(Headers headers) {
    for (int i = 0; i < kMany; ++i) {
      blocked.push_back(server.client());
      blocked.back().get("/block", headers(i));
    }
    for (int i = 0; i < 3; ++i) begun.wait();
  }
  void release() {
    for (int i = 0; i < kMany; ++i) gate.open();
    for (Client& client : blocked) EXPECT_EQ(client.reply().status, 200);
  }
  static std::string bearer(std::string_view secret) { return "Authorization: Bearer " + std::string(secret) + "\r\n"; }

  static constexpr int kMany = 8;
  Gate begun;
  Gate gate;
  std::vector<Client> blocked;
  TestEdge server;
};

TEST_F(Turns, CookiesThatNobodyVerifiedShareThoseOfTheirAddress) {
  ASSERT_EQ(server.ask("/ask", bearer("b")).status, 200);
  block([](int i) { return "Cookie: made=up" + std::to_string(i) + "\r\n"; });
  EXPECT_EQ(server.ask("/ask", bearer("b")).body, "done");
  release();
}

TEST_F(Turns, TokensThatNobodyVerifiedShareThoseOfTheirAddress) {
  ASSERT_EQ(server.ask("/ask", bearer("b")).status, 200);
  block([](int i) { return bearer("unknown" + std::to_string(i)); });
  EXPECT_EQ(server.ask("/ask", bearer("b")).body, "done");
  release();
}

TEST_F(Turns, TheSessionsOfOneTokenShareItsTurns) {
  const auto session = [](int i) {
    return "Cookie: other=" + std::to_string(i) + "; __Host-restante=a" + std::to_string(1 + i % 2) + "\r\n";
  };
  for (int i = 0; i < 2; ++i) ASSERT_EQ(server.ask("/ask", session(i)).status, 200);
  block(session);
  // Not verified yet: it has the turns of its address, which the sessions do not use.
  EXPECT_EQ(server.ask("/ask", bearer("b")).body, "done");
  release();
}

struct TurnsBehindAProxy : Turns {
  TurnsBehindAProxy() : Turns({http::Network::parse("127.0.0.1").value()}) {}
  static std::string from(std::string_view address) { return "X-Forwarded-For: " + std::string(address) + "\r\n"; }
};

TEST_F(TurnsBehindAProxy, AnAddressIsTheOneThatATrustedProxyReports) {
  block([](int) { return from("192.0.2.1"); });
  EXPECT_EQ(server.ask("/ask", from("192.0.2.2")).body, "done");
  release();
}

TEST_F(TurnsBehindAProxy, OneNetworkOfIpv6IsOneClient) {
  block([](int i) { return from("2001:db8:1:2::" + std::to_string(i + 1)); });
  EXPECT_EQ(server.ask("/ask", from("2001:db8:1:3::1")).body, "done");
  release();
}

TEST(KnownClients, KeepsTheOnesThatWereUsedLast) {
  KnownClients known(4);
  known.remember("first", 1);
  for (std::size_t i = 2; i < 9; ++i) {
    known.remember("other" + std::to_string(i), i);
    EXPECT_EQ(known.find("first"), 1u) << "used all the time, after " << i;
  }
  EXPECT_EQ(known.find("other2"), 0u);
  EXPECT_EQ(known.find(""), 0u);
  known.forget("first");
  EXPECT_EQ(known.find("first"), 0u);
}

}  // namespace
}  // namespace restante::net
