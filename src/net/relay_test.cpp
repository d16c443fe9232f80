// Bodies that are passed on to another server while they arrive, and its replies.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "net/test_relay.h"

namespace restante::net {
namespace {

TEST(Relay, PassesASizedBodyOnWithItsHeadAndTheReplyBack) {
  const std::string body = pattern(3'000'001);
  Seen seen;
  Other other(taking(seen, body.size()));
  RelayEdge edge(other.url());
  Client client = edge.server.client();
  client.send(sized_head(body.size()) + body);
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "done");
  EXPECT_EQ(reply.header("X-Type"), "text/x-done");
  EXPECT_TRUE(seen.raw_body() == body);
  EXPECT_TRUE(seen.head().starts_with("POST /in HTTP/1.1\r\nHost: 127.0.0.1:")) << seen.head();
  for (const char* line : {"Authorization: Bearer inbound\r\n", "Content-Type: multipart/form-data; boundary=b\r\n",
                           "Content-Length: 3000001\r\n", "Connection: close\r\n"}) {
    EXPECT_NE(seen.head().find(line), std::string::npos) << line << seen.head();
  }
  const http::Forwarded came = edge.result();
  EXPECT_TRUE(came.connected);
  EXPECT_EQ(came.sent, body.size());
  EXPECT_EQ(client.ask("/health").body, "ok") << "the connection goes on";
}

TEST(Relay, PassesAChunkedBodyOnChunkedWhateverTheChunksAre) {
  const std::string body = pattern(200'001);
  for (const std::size_t step : {std::size_t(7), std::size_t(4096), std::size_t(150'000)}) {
    Seen seen;
    Other other([&](Other& self, int fd) {
      if (read_until(seen, fd, [&] { return seen.text().ends_with("\r\n0\r\n\r\n"); })) self.send_bytes(fd, kDone);
    });
    RelayEdge edge(other.url());
    Client client = edge.server.client();
    std::string framed;
    for (std::size_t at = 0; at < body.size(); at += step) framed += chunk(std::string_view(body).substr(at, step));
    client.send(std::string(kChunkedHead) + framed + "0\r\n\r\n");
    EXPECT_EQ(client.ask("/health").body, "done");
    EXPECT_EQ(client.reply().body, "ok") << "what follows the last chunk is the next request";
    EXPECT_NE(seen.head().find("Transfer-Encoding: chunked\r\n"), std::string::npos) << seen.head();
    EXPECT_EQ(seen.head().find("Content-Length"), std::string::npos) << seen.head();
    EXPECT_TRUE(seen.unchunked() == body) << step;
    EXPECT_EQ(edge.result().sent, body.size());
  }
}

TEST(Relay, AnEmptyBodyIsPassedOnToo) {
  Seen seen;
  Other other([&](Other& self, int fd) {
    if (read_until(seen, fd, [&] { return has_head(seen); })) self.send_bytes(fd, kDone);
  });
  RelayEdge edge(other.url());
  Client client = edge.server.client();
  client.send(sized_head(0));
  EXPECT_EQ(client.reply().body, "done");
  EXPECT_NE(seen.head().find("Content-Length: 0\r\n"), std::string::npos) << seen.head();
}

TEST(Relay, TheSenderGets100OnceTheConnectionIsMade) {
  Seen seen;
  Other other(taking(seen, 3));
  RelayEdge edge(other.url());
  Client client = edge.server.client();
  client.send(sized_head(3, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.reply().body, "done");

  RelayEdge nowhere("http://127.0.0.1:1/in");
  Client refused = nowhere.server.client();
  refused.send(sized_head(3, "Expect: 100-continue\r\n"));
  const Reply reply = refused.reply();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.body, "unreachable");
  EXPECT_TRUE(refused.at_end());
  EXPECT_FALSE(nowhere.result().connected);
}

TEST(Relay, AnEarlyReplyIsAnsweredAtOnceAlthoughTheSenderSendsNoMore) {
  for (const std::string& head : {std::string(kChunkedHead) + chunk("first"), sized_head(1'000'000) + "first"}) {
    Seen seen;
    Other other([&](Other& self, int fd) {
      read_until(seen, fd, [&] { return seen.text().find("first") != std::string::npos; });
      self.send_bytes(fd, "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno");
      self.wait_until_closed(fd);
    });
    RelayEdge edge(other.url());
    Client client = edge.server.client();
    client.send(head);
    expect_last_answer(client, 401, "no");
  }
}

TEST(Relay, AReplyBeforeTheFirstByteOfTheBodyEndsTheWaitForIt) {
  Seen seen;
  Other other([&](Other& self, int fd) {
    read_until(seen, fd, [&] { return has_head(seen); });
    self.send_bytes(fd, "HTTP/1.1 413 Much\r\nContent-Length: 0\r\n\r\n");
    self.wait_until_closed(fd);
  });
  RelayEdge edge(other.url());
  Client client = edge.server.client();
  client.send(sized_head(1'000'000));
  EXPECT_EQ(client.reply().status, 413);
  EXPECT_EQ(edge.result().sent, 0u);
}

TEST(Relay, AReplyBeforeTheEndOfTheHeadIsTheAnswerAndNothingOfTheBodyIsSent) {
  Other other([](Other& self, int fd) {
    self.send_bytes(fd, "HTTP/1.1 431 Much\r\nContent-Length: 4\r\n\r\nhead");
    self.wait_until_over();
  });
  std::atomic<std::uint64_t> sent{1};
  TestEdge server;
  server.stream("/up", [&](http::Request&) -> http::BodyHandling {
    auto relay = std::make_unique<http::Relay>();
    relay->order.url = other.url();
    relay->order.headers.emplace_back("X-Much", std::string(32 << 20, 'x'));  // more than a connection buffers
    relay->order.then = [&](http::Forwarded came) {
      sent = came.sent;
      return text(came.body, came.status);
    };
    return relay;
  });
  server.start();
  Client client = server.client();
  client.send(sized_head(1'000'000) + "first");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 431);
  EXPECT_EQ(reply.body, "head");
  EXPECT_EQ(sent, 0u);
}

// The other server answers and closes, and so resets the connection while we send: its answer still counts.
TEST(Relay, ASenderThatKeepsSendingSeesTheEarlyReply) {
  Seen seen;
  Other other([&](Other& self, int fd) {
    read_until(seen, fd, body_of(seen, 100'000));
    self.send_bytes(fd, "HTTP/1.1 413 Much\r\nContent-Length: 8\r\n\r\ntoo much");
    self.wait_until_closed(fd);
  });
  RelayEdge edge(other.url());
  Client client = edge.server.client();
  client.send(sized_head(8'000'000));
  auto sender = std::async(std::launch::async, [&] { client.send(pattern(8'000'000)); });
  EXPECT_EQ(client.reply().body, "too much");
  client.finish_sending();
  sender.get();
}

TEST(Relay, AnAnswerThatIsNotFinalIsABadReply) {
  for (const char* status : {"101 Switching Protocols", "600 What", "999 What", "099 What"}) {
    Seen seen;
    Other other(taking(seen, 3, "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 0\r\n\r\n"));
    RelayEdge edge(other.url());
    Client client = edge.server.client();
    client.send(sized_head(3) + "abc");
    EXPECT_EQ(client.reply().body, "bad_reply") << status;
  }
}

TEST(Relay, InterimRepliesAreNotTheAnswer) {
  Seen seen;
  Other other([&](Other& self, int fd) {
    read_until(seen, fd, [&] { return has_head(seen); });
    self.send_bytes(fd, "HTTP/1.1 100 Continue\r\n\r\n");
    read_until(seen, fd, body_of(seen, 3));
    self.send_bytes(fd, kDone);
  });
  RelayEdge edge(other.url());
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "done");
}

TEST(Relay, AReplyBeyondTheCapIsTooLarge) {
  Seen seen;
  Other other(taking(seen, 3, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n01234567890"));
  RelayEdge edge(other.url());
  edge.reply_cap = 10;
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "too_large");
}

TEST(Relay, ARefusedAddressIsNeverConnectedTo) {
  Other other([](Other&, int) {});
  RelayEdge edge(other.url());
  edge.may_connect = [](std::string_view address) { return address != "127.0.0.1"; };
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "refused_address");
  EXPECT_FALSE(edge.result().connected);
  EXPECT_EQ(other.connections(), 0);
}

class Taker final : public http::BodySink {
 public:
  std::optional<http::Response> take(std::string_view bytes) override {
    bytes_ += bytes;
    return std::nullopt;
  }
  http::Response finish() override { return text("taken " + bytes_); }

 private:
  std::string bytes_;
};

TEST(Relay, ABodySinkOrAnAnswerReplacesItWhenThereIsNoConnection) {
  RelayEdge edge("http://127.0.0.1:1/in");
  std::atomic<int> called{0};
  edge.instead = [&](const http::Forwarded& came) -> http::BodyHandling {
    EXPECT_EQ(came.outcome, Outcome::unreachable);
    if (++called == 1) return std::make_unique<Taker>();
    return text("no room", 507);
  };
  Client client = edge.server.client();
  client.send(sized_head(3, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.reply().body, "taken abc");
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "no room");
}

TEST(Relay, NothingReplacesItOnceThereWasAConnection) {
  Seen seen;
  Other other([&](Other&, int fd) { read_until(seen, fd, [&] { return has_head(seen); }); });
  RelayEdge edge(other.url());
  std::atomic<bool> called{false};
  edge.instead = [&](const http::Forwarded&) -> http::BodyHandling {
    called = true;
    return text("never", 500);
  };
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "bad_reply");
  EXPECT_FALSE(called);
}

TEST(Relay, ARouteMayAnswerFromTheHeadAlone) {
  TestEdge server;
  server.stream("/up", [](http::Request&) -> http::BodyHandling { return text("not now", 503); });
  server.start();
  Client client = server.client();
  client.send(sized_head(1'000'000, "Expect: 100-continue\r\n"));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST(Relay, AnExceptionOfThenIsAnsweredToo) {
  Seen seen;
  Other other(taking(seen, 3));
  TestEdge server;
  server.stream("/up", [&](http::Request&) -> http::BodyHandling {
    auto relay = std::make_unique<http::Relay>();
    relay->order.url = other.url();
    relay->order.then = [](http::Forwarded) -> http::Response { throw std::runtime_error("broken"); };
    return relay;
  });
  server.start();
  Client client = server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().status, 500);
}

}  // namespace
}  // namespace restante::net
