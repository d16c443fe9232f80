#include "net/upstream_request.h"

#include "base/commit.h"
#include "base/error.h"
#include "net/test_edge.h"
#include "net/test_other.h"

namespace restante::net {
namespace {

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

http::Forward order_for(const Other& other, std::function<http::Response(http::Forwarded)> then) {
  http::Forward order;
  order.url = other.url();
  order.body = "{}";
  order.timeout = kNever;
  order.may_connect = [](std::string_view) { return true; };
  order.then = std::move(then);
  return order;
}

void answer(Other& other, int fd) {
  other.read_request(fd);
  other.send_bytes(fd, kAnswer);
}

TEST(BackgroundCall, TheAnswerOfTheOtherServerIsPassedOnAlthoughNoClientWaits) {
  Gate handled;
  std::string body;
  Other other(answer);
  TestEdge server;
  server.start();
  server.edge.call(order_for(other, [&](http::Forwarded came) {
    body = came.body;
    handled.open();
    return http::json(200, "{}");
  }));
  handled.wait();
  EXPECT_EQ(body, "hi");
}

TEST(BackgroundCall, AFailedThenIsRepeatedAndTheOtherServerIsNotCalledAgain) {
  Gate handled;
  int attempts = 0;
  Other other(answer);
  TestEdge server;
  server.start();
  server.edge.call(order_for(other, [&](const http::Forwarded& came) {
    EXPECT_EQ(came.body, "hi");
    if (++attempts == 1) throw Unavailable("the store is away");
    if (attempts == 2) {
      CommitPromise<int> lost;
      auto commit = lost.commit();
      lost.fail(std::make_exception_ptr(Unavailable("it went while this was written")));
      return http::after(std::move(commit), [](int) { return http::json(200, "{}"); });
    }
    handled.open();
    return http::json(200, "{}");
  }));
  handled.wait();
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(other.connections(), 1);
}

TEST(BackgroundCall, AStoppingEdgeWaitsForItAsForARequest) {
  Gate called, go;
  Other other([&](Other& self, int fd) {
    self.read_request(fd);
    called.open();
    go.wait();
    self.send_bytes(fd, kAnswer);
  });
  bool handled = false;
  TestEdge server;
  server.start();
  server.edge.call(order_for(other, [&](const http::Forwarded&) {
    handled = true;
    return http::json(200, "{}");
  }));
  called.wait();
  std::thread opener([&] { go.open(); });
  server.edge.stop();
  opener.join();
  EXPECT_TRUE(handled);
}

}  // namespace
}  // namespace restante::net
