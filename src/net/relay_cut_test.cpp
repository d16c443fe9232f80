// Bodies that are not passed on to their end: the sender or the other server closes or is too slow, or we stop.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "net/test_relay.h"

namespace restante::net {
namespace {

using namespace std::chrono_literals;

// Reads until the sender closes, without an answer, and opens the gate then.
Other::Script reading_until_cut(Gate& left) {
  return [&left](Other&, int fd) {
    Seen seen;
    read_until(seen, fd, [] { return false; });
    left.open();
  };
}

TEST(Relay, AServerThatClosesInTheMiddleIsABadReplyAtOnce) {
  for (const char* reply : {"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"}) {
    Seen seen;
    Other other([&](Other& self, int fd) {
      read_until(seen, fd, body_of(seen, 5));
      self.send_bytes(fd, reply);
    });
    RelayEdge edge(other.url());
    Client client = edge.server.client();
    client.send(sized_head(1'000'000) + "first");
    EXPECT_EQ(client.reply().body, "bad_reply");
    EXPECT_TRUE(edge.result().connected);
  }
}

TEST(Relay, ASenderThatIsCutCutsTheRequestToTheOtherServer) {
  struct Case {
    const char* name;
    std::string begin;
    std::function<void(Client&)> end;
    int status;
  };
  const std::string kSized = sized_head(1'000'000) + "first";
  const std::string kChunks = std::string(kChunkedHead) + chunk("first");
  const Case kCases[] = {
      {"closed", kSized, [](Client& client) { client.close(); }, 0},
      {"reset", kSized, [](Client& client) { client.reset(); }, 0},
      {"ended", kSized, [](Client& client) { client.finish_sending(); }, 400},
      {"chunks that end", kChunks, [](Client& client) { client.finish_sending(); }, 400},
      {"no chunk", kChunks, [](Client& client) { client.send("not a size\r\n"); }, 400},
  };
  for (const Case& one : kCases) {
    Seen seen;
    Gate began;
    Gate left;
    std::atomic<bool> whole{true};
    Other other([&](Other&, int fd) {
      read_until(seen, fd, [&] { return seen.text().find("first") != std::string::npos; });
      began.open();
      whole = read_until(seen, fd, [] { return false; });
      left.open();
    });
    RelayEdge edge(other.url());
    Client client = edge.server.client();
    client.send(one.begin);
    began.wait();
    one.end(client);
    left.wait();
    EXPECT_FALSE(whole) << one.name;
    EXPECT_FALSE(seen.text().ends_with("0\r\n\r\n")) << one.name << ": it looks like a whole body";
    const http::Forwarded came = edge.result();
    EXPECT_EQ(name_of(came.outcome), "cut") << one.name;
    EXPECT_EQ(came.sent, 5u) << one.name;
    if (one.status == 0) continue;
    EXPECT_EQ(client.reply().status, one.status) << one.name;
  }
}

TEST(Relay, ASenderThatStopsIsTimedOutAndCut) {
  Options options = test_options();
  options.timeouts.body_grace = 1s;
  options.min_rate = 1 << 30;
  Gate left;
  Other other(reading_until_cut(left));
  RelayEdge edge(other.url(), options);
  Client client = edge.server.client();
  client.send(sized_head(1'000'000) + "some of it");
  EXPECT_EQ(client.reply().status, 408);
  left.wait();
  EXPECT_EQ(edge.result().outcome, Outcome::cut);
}

TEST(Relay, ABodyBeyondTheLimitIsCutWhereverItIsDetected) {
  Options options = test_options();
  options.limits.stream_body = 100'000;
  Gate left;
  Other other(reading_until_cut(left));
  RelayEdge edge(other.url(), options);
  Client announced = edge.server.client();
  announced.send(sized_head(100'001));
  EXPECT_EQ(announced.reply().status, 413);
  EXPECT_EQ(other.connections(), 0) << "a request that is refused anyway is not passed on";
  Client endless = edge.server.client();
  endless.send(kChunkedHead);
  for (int i = 0; i < 101; ++i) endless.send(chunk(std::string(1000, 'x')));
  const Reply reply = endless.reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_NE(reply.body.find("\"max\":100000"), std::string::npos) << reply.body;
  left.wait();
  EXPECT_EQ(edge.result().outcome, Outcome::cut);
}

// One read is in memory, the kernel's buffers are full: then the sender cannot send more, and the timeout of the other
// server ends it.
TEST(Relay, AServerThatDoesNotReadStopsTheSenderAndTimesOut) {
  constexpr std::size_t kBody = 100 << 20;
  Options options = test_options();
  options.timeouts.write_stall = 2s;
  Other other([](Other& self, int) { self.wait_until_over(); });
  RelayEdge edge(other.url(), options);
  Client client = edge.server.client();
  client.send(sized_head(kBody));
  EXPECT_LT(client.send_until_full(kBody, kCeiling), kBody / 4) << "until it is answered";
  EXPECT_EQ(client.reply().body, "timed_out");
  EXPECT_LT(edge.result().sent, kBody / 4);
}

TEST(Relay, AServerThatReadsTooSlowlyTimesOut) {
  Options options = test_options();
  options.timeouts.write_stall = 200ms;
  options.min_rate = 1 << 30;
  Other other([](Other& self, int fd) {
    char piece[512];
    while (!self.is_over(5ms) && ::recv(fd, piece, sizeof piece, 0) > 0) {
    }
  });
  RelayEdge edge(other.url(), options);
  Client client = edge.server.client();
  client.send(sized_head(100 << 20));
  auto sender = std::async(std::launch::async, [&] { client.send(std::string(100 << 20, 'x')); });
  EXPECT_EQ(client.reply().body, "timed_out");
  client.finish_sending();
  sender.get();
}

TEST(Relay, AServerThatNeverRepliesTimesOut) {
  Seen seen;
  Other other([&](Other& self, int fd) {
    read_until(seen, fd, body_of(seen, 3));
    self.wait_until_closed(fd);
  });
  RelayEdge edge(other.url());
  edge.timeout = 2s;
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "timed_out");
  EXPECT_EQ(edge.result().sent, 3u);
  EXPECT_EQ(client.ask("/health").body, "ok");
}

TEST(Relay, TheWholeRequestHasADeadline) {
  Options options = test_options();
  options.timeouts.request = 1s;
  Seen seen;
  Other other([&](Other& self, int fd) {
    read_until(seen, fd, body_of(seen, 3));
    self.wait_until_closed(fd);
  });
  RelayEdge edge(other.url(), options);
  Client whole = edge.server.client();
  whole.send(sized_head(3) + "abc");
  EXPECT_EQ(whole.reply().body, "timed_out");
  Client part = edge.server.client();
  part.send(sized_head(1'000'000) + "abc");
  // Sender and server are both late; the timer that expires first decides the status.
  const int status = part.reply().status;
  EXPECT_TRUE(status == 408 || status == 502) << status;
}

// A server whose queue of connections is full: a connect to it does not complete.
class Busy {
 public:
  Busy() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    socklen_t size = sizeof address_;
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, address(), size), 0);
    EXPECT_EQ(::listen(listener_, 0), 0);
    EXPECT_EQ(::getsockname(listener_, address(), &size), 0);
    for (bool full = false; !full && waiting_.size() < 100;) {
      const int fd = waiting_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)::connect(fd, address(), sizeof address_);
      pollfd entry{fd, POLLOUT, 0};
      full = ::poll(&entry, 1, 200) == 0;
    }
  }
  ~Busy() {
    for (const int fd : waiting_) ::close(fd);
    ::close(listener_);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)) + "/in"; }

 private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }
  const int listener_;
  sockaddr_in address_{};
  std::vector<int> waiting_;
};

TEST(Relay, StopNowEndsAConnect) {
  Options options = test_options();
  options.timeouts.drain = 0ms;
  const Busy busy;
  Gate connecting;
  RelayEdge edge(busy.url(), options);
  edge.may_connect = [&](std::string_view) {
    connecting.open();
    return true;
  };
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  connecting.wait();
  edge.server.edge.stop();
  const http::Forwarded came = edge.result();
  EXPECT_EQ(came.outcome, Outcome::cut);
  EXPECT_FALSE(came.connected);
}

TEST(Relay, StopNowEndsAHandshake) {
  Options options = test_options();
  options.timeouts.drain = 0ms;
  Gate began;
  Gate left;
  Other other([&](Other&, int fd) {
    Seen seen;
    read_until(seen, fd, [&] { return !seen.text().empty(); });
    began.open();
    read_until(seen, fd, [] { return false; });
    left.open();
  });
  RelayEdge edge(other.url("https"), options);
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  began.wait();
  edge.server.edge.stop();
  left.wait();
  const http::Forwarded came = edge.result();
  EXPECT_EQ(came.outcome, Outcome::cut);
  EXPECT_FALSE(came.connected);
}

TEST(Relay, AConnectionThatTakesTooLongIsTimedOut) {
  const Busy busy;
  RelayEdge edge(busy.url());
  edge.timeout = 100ms;
  Client client = edge.server.client();
  client.send(sized_head(3) + "abc");
  EXPECT_EQ(client.reply().body, "timed_out");
  EXPECT_FALSE(edge.result().connected);
}

TEST(Relay, StopNowCutsARelay) {
  Options options = test_options();
  options.timeouts.drain = 0ms;
  for (const std::size_t size : {std::size_t(1'000'000), std::size_t(3)}) {
    Seen seen;
    Gate began;
    Gate left;
    Other other([&](Other&, int fd) {
      read_until(seen, fd, body_of(seen, 3));
      began.open();
      read_until(seen, fd, [] { return false; });
      left.open();
    });
    RelayEdge edge(other.url(), options);
    Client client = edge.server.client();
    client.send(sized_head(size) + "abc");
    began.wait();
    edge.server.edge.stop();
    left.wait();
    EXPECT_EQ(edge.result().outcome, Outcome::cut) << size;
    client.close();
  }
}

}  // namespace
}  // namespace restante::net
