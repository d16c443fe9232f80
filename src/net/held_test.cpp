// Requests that stay open: held polls and event streams.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/error.h"
#include "net/test_edge.h"

namespace restante::net {
namespace {

// A poll that is answered once `there` is true. Opens `looked` after each check, which is after it was armed.
struct Poll {
  std::atomic<bool> there{false};
  std::atomic<bool> appears_without_ring{false};  // `there` becomes true after the first check, without a ring
  Gate looked;

  http::Response operator()(std::chrono::milliseconds timeout, std::string owner = "owner",
                            std::shared_ptr<void> held = {}) {
    return http::held_poll({{"topic"},
                            std::move(owner),
                            timeout,
                            [this, held]() -> std::optional<http::Response> {
                              const bool found = there.load();
                              if (appears_without_ring) there = true;
                              looked.open();
                              return found ? std::optional(text("found")) : std::nullopt;
                            },
                            [] { return text("empty"); }});
  }
};

TEST(Held, IsAnsweredAtOnceWhenThereIsSomething) {
  Poll poll;
  TestEdge server;
  poll.there = true;
  server.get("/", [&](auto&) { return poll(kNever); });
  server.post("/", http::Body::required, [&](auto&) { return poll(kNever); });
  server.start();
  EXPECT_EQ(server.ask("/").body, "found");
  Client client = server.client();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n");
  client.send("body");
  EXPECT_EQ(client.reply().body, "found");
}

TEST(Held, IsWokenByTheBellFromAnotherThread) {
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(kNever); });
  server.start();
  Client client = server.client();
  for (int again = 0; again < 3; ++again) {
    poll.there = false;
    client.get("/");
    poll.looked.wait();
    poll.there = true;
    server.ring("topic");
    EXPECT_EQ(client.reply().body, "found");
    poll.looked.wait();
  }
  EXPECT_EQ(server.metrics.held_polls.Value(), 0);
}

TEST(Held, IsCountedOnlyAfterItsFirstCheck) {
  Gate may_look;
  Gate looking;
  TestEdge server;
  server.get("/", [&](auto&) {
    return http::held_poll({{"topic"},
                            "owner",
                            kNever,
                            [&]() -> std::optional<http::Response> {
                              looking.open();
                              may_look.wait();
                              return std::nullopt;
                            },
                            [] { return text("empty"); }});
  });
  server.start();
  Client client = server.client();
  client.get("/");
  looking.wait();
  EXPECT_EQ(server.metrics.held_polls.Value(), 0);
  may_look.open();
  server.ring("topic");
  looking.wait();  // for the second time
  EXPECT_EQ(server.metrics.held_polls.Value(), 1);
  may_look.open();
  client.close();
}

TEST(Held, ARingWithoutAResultKeepsItHeld) {
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(kNever); });
  server.start();
  Client client = server.client();
  client.get("/");
  poll.looked.wait();
  for (int i = 0; i < 5; ++i) {
    server.ring("topic");
    poll.looked.wait();
  }
  poll.there = true;
  server.ring("another topic");
  server.ring("topic");
  EXPECT_EQ(client.reply().body, "found");
}

TEST(Held, GivesUpWhenTheTimeIsUpAndTheConnectionStaysUsable) {
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(std::chrono::milliseconds(1)); });
  server.start();
  Client client = server.client();
  client.get("/");
  EXPECT_EQ(client.reply().body, "empty");
  client.get("/");
  EXPECT_EQ(client.reply().body, "empty");
}

TEST(Held, ChecksOnceMoreWhenTheTimeIsUpBecauseTheBellIsOnlyAHint) {
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(std::chrono::milliseconds(30)); });
  server.start();
  Client client = server.client();
  poll.appears_without_ring = true;
  client.get("/");
  EXPECT_EQ(client.reply().body, "found");
}

TEST(Held, OneMoreThanTheOwnersCapAnswersTheOldestEmpty) {
  Options options = test_options();
  options.parked_per_owner = 2;
  Poll poll;
  TestEdge server(options);
  server.get("/:owner", [&](auto& r) { return poll(kNever, std::string(r.param("owner"))); });
  server.start();
  Client foreign = server.client();
  foreign.get("/other");
  poll.looked.wait();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(server.client());
    clients.back().get("/owner");
    poll.looked.wait();
  }
  EXPECT_EQ(clients[0].reply().body, "empty");
  poll.there = true;
  server.ring("topic");
  EXPECT_EQ(clients[1].reply().body, "found");
  EXPECT_EQ(clients[2].reply().body, "found");
  EXPECT_EQ(foreign.reply().body, "found");
}

TEST(Held, IsReleasedWhenTheClientCloses) {
  Gate released;
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(kNever, "owner", open_when_released(released)); });
  server.start();
  for (int i = 0; i < 3; ++i) {
    Client client = server.client();
    client.get("/");
    poll.looked.wait();
    if (i == 0) client.close();
    if (i == 1) client.reset();
    // Unread bytes must not hide that the client has closed.
    if (i == 2) client.get("/");
    client.close();
    released.wait();
  }
}

TEST(Held, RequestsPipelinedBehindAHeldOneAreAnsweredAfterIt) {
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(kNever); });
  server.get("/next", [](auto&) { return text("next"); });
  server.start();
  Client client = server.client();
  client.get("/");
  poll.looked.wait();
  client.get("/next");
  poll.there = true;
  server.ring("topic");
  EXPECT_EQ(client.reply().body, "found");
  EXPECT_EQ(client.reply().body, "next");
}

TEST(Held, IsAnsweredEmptyWhenTheServerStopsAndSoAreLaterOnes) {
  Poll poll;
  TestEdge server;
  server.get("/", [&](auto&) { return poll(kNever); });
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(server.client());
    clients.back().get("/");
    poll.looked.wait();
  }
  clients[0].get("/");
  auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
  for (Client& client : clients) {
    const Reply reply = client.reply();
    EXPECT_EQ(reply.body, "empty");
    EXPECT_EQ(reply.header("Connection"), "close");
    client.close();
  }
  stopped.get();
}

// Many readers each wait for a number to grow, while two writers increment it and ring. If a ring between check and
// park() were lost, a reader would wait for ever.
TEST(Held, NoRingIsLostBetweenTheCheckAndThePark) {
  constexpr int kReaders = 6;
  constexpr int kLast = 300;
  TestEdge server;
  std::atomic<int> number{0};
  server.get("/:seen", [&](auto& r) {
    const int seen = std::stoi(std::string(r.param("seen")));
    return http::held_poll({{"number"},
                            "reader " + std::to_string(seen % 3),
                            kNever,
                            [&number, seen]() -> std::optional<http::Response> {
                              const int now = number.load();
                              return now > seen ? std::optional(text(std::to_string(now))) : std::nullopt;
                            },
                            [seen] { return text(std::to_string(seen)); }});
  });
  server.start();
  std::vector<std::thread> threads;
  std::atomic<int> arrived{0};
  for (int i = 0; i < kReaders; ++i) {
    threads.emplace_back([&] {
      Client client = server.client();
      int seen = 0;
      while (seen < kLast) {
        client.get("/" + std::to_string(seen));
        const Reply reply = client.reply();
        if (reply.status != 200) return;
        seen = std::stoi(reply.body);
      }
      ++arrived;
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (number.load() < kLast) {
        ++number;
        server.ring("number");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arrived, kReaders);
}

// Polls on one connection, each sent before the previous one is answered: they are parked with unread bytes again and
// again, while the tick checks the connection.
TEST(Held, PipelinedPollsAndTheTickDoNotConflict) {
  Options options = test_options();
  options.timeouts.linger = std::chrono::milliseconds(1);
  Poll poll;
  TestEdge server(options);
  server.get("/", [&](auto&) { return poll(std::chrono::milliseconds(15)); });
  server.start();
  Client client = server.client();
  for (int i = 0; i < 40; ++i) client.get("/");
  for (int i = 0; i < 40; ++i) EXPECT_EQ(client.reply().body, "empty");
}

// --- events

// A stream of the events that were put into it.
struct Source {
  std::mutex mutex;
  std::string waiting;
  bool over = false;
  bool broken = false;
  Gate called;

  http::Response operator()(std::chrono::milliseconds keep_alive, std::shared_ptr<void> held = {}) {
    return http::events({{"topic"}, "owner", keep_alive, [this, held]() -> std::optional<http::Events::Step> {
                           const std::lock_guard lock(mutex);
                           called.open();
                           if (broken) throw Unavailable("no_source");
                           if (over) return std::nullopt;
                           return http::Events::Step{std::exchange(waiting, {}), false};
                         }});
  }
  void put(TestEdge& server, std::string event) {
    {
      const std::lock_guard lock(mutex);
      waiting += event;
    }
    server.ring("topic");
  }
};

TEST(Events, AreChunksOfAnEventStreamAndEndWithTheLastChunk) {
  Source source;
  TestEdge server;
  source.waiting = "data: first\n\n";
  server.get("/", [&](auto&) { return source(kNever); });
  server.get("/next", [](auto&) { return text("next"); });
  server.start();
  Client client = server.client();
  client.get("/");
  const std::string head = client.read_through("\r\n\r\n");
  EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_NE(head.find("X-Accel-Buffering: no\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  EXPECT_EQ(client.chunk(), "data: first\n\n");
  source.put(server, "data: second\n\n");
  EXPECT_EQ(client.chunk(), "data: second\n\n");
  {
    const std::lock_guard lock(source.mutex);
    source.over = true;
  }
  server.ring("topic");
  EXPECT_EQ(client.chunk(), "");
  client.get("/next");
  EXPECT_EQ(client.reply().body, "next");
}

TEST(Events, AStepWithMoreIsFollowedByTheNextWithoutARing) {
  TestEdge server;
  server.get("/", [](auto&) {
    return http::events({{"topic"}, "owner", kNever, [left = 3]() mutable -> std::optional<http::Events::Step> {
                           return http::Events::Step{"data: " + std::to_string(left) + "\n\n", --left > 0};
                         }});
  });
  server.start();
  Client client = server.client();
  client.get("/");
  client.read_through("\r\n\r\n");
  for (const char* text : {"data: 3\n\n", "data: 2\n\n", "data: 1\n\n"}) EXPECT_EQ(client.chunk(), text);
  server.ring("topic");
  EXPECT_EQ(client.chunk(), "data: 0\n\n");
}

TEST(Events, AStreamThatAlwaysHasMoreStillEndsWithTheServer) {
  TestEdge server;
  Gate called;
  server.get("/", [&](auto&) {
    return http::events({{"topic"}, "owner", kNever, [&]() -> std::optional<http::Events::Step> {
                           called.open();
                           return http::Events::Step{"data: x\n\n", true};
                         }});
  });
  server.start();
  Client client = server.client();
  client.get("/");
  client.read_through("\r\n\r\n");
  called.wait();
  auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
  while (!client.chunk().empty()) {
  }
  client.close();
  stopped.get();
}

TEST(Events, ACommentKeepsTheConnectionAlive) {
  Source source;
  TestEdge server;
  server.get("/", [&](auto&) { return source(std::chrono::milliseconds(5)); });
  server.start();
  Client client = server.client();
  client.get("/");
  client.read_through("\r\n\r\n");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.chunk().starts_with(":"));
  source.put(server, "data: x\n\n");
  std::string chunk = client.chunk();
  while (chunk.starts_with(":")) chunk = client.chunk();
  EXPECT_EQ(chunk, "data: x\n\n");
}

TEST(Events, AnHttp10ClientGetsThemWithoutChunksUntilTheClose) {
  Source source;
  TestEdge server;
  source.waiting = "data: first\n\n";
  server.get("/", [&](auto&) { return source(kNever); });
  server.start();
  Client client = server.client();
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string head = client.read_through("\r\n\r\n");
  EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(client.read(13), "data: first\n\n");
  {
    const std::lock_guard lock(source.mutex);
    source.over = true;
  }
  server.ring("topic");
  EXPECT_TRUE(client.at_end());
}

TEST(Events, HeadGetsOnlyTheHead) {
  Source source;
  TestEdge server;
  source.waiting = "data: first\n\n";
  server.get("/", [&](auto&) { return source(kNever); });
  server.get("/next", [](auto&) { return text("next"); });
  server.start();
  Client client = server.client();
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.reply(false).header("Content-Type"), "text/event-stream");
  client.get("/next");
  EXPECT_EQ(client.reply().body, "next");
}

TEST(Events, EndWithTheServer) {
  Source source;
  TestEdge server;
  server.get("/", [&](auto&) { return source(kNever); });
  server.start();
  Client client = server.client();
  client.get("/");
  client.read_through("\r\n\r\n");
  source.called.wait();
  auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
  EXPECT_EQ(client.chunk(), "");
  EXPECT_TRUE(client.at_end());
  client.close();
  stopped.get();
}

TEST(Events, AreReleasedWhenTheClientCloses) {
  Gate released;
  Source source;
  TestEdge server;
  server.get("/", [&](auto&) { return source(kNever, open_when_released(released)); });
  server.start();
  for (int i = 0; i < 2; ++i) {
    Client client = server.client();
    client.get("/");
    client.read_through("\r\n\r\n");
    source.called.wait();
    i == 0 ? client.close() : client.reset();
    released.wait();
  }
  EXPECT_EQ(server.metrics.held_polls.Value(), 0);
}

TEST(Events, AFailureCutsTheStreamSoThatTheClientReconnects) {
  Source source;
  TestEdge server;
  server.get("/", [&](auto&) { return source(kNever); });
  server.start();
  Client client = server.client();
  client.get("/");
  client.read_through("\r\n\r\n");
  source.called.wait();
  {
    const std::lock_guard lock(source.mutex);
    source.broken = true;
  }
  server.ring("topic");
  EXPECT_TRUE(client.at_end());
  EXPECT_NE(server.logged().find("no_source"), std::string::npos);
}

TEST(Events, AReaderThatTakesNothingIsCut) {
  Options options = test_options();
  options.timeouts.write_stall = std::chrono::milliseconds(100);
  Gate released;
  TestEdge server(options);
  const std::string much = "data: " + std::string(1 << 20, 'x') + "\n\n";
  server.get("/", [&, held = std::make_shared<int>()](auto&) {
    return http::events(
        {{"topic"}, "owner", std::chrono::milliseconds(1), [&much, alive = open_when_released(released)] {
           return std::optional(http::Events::Step{much, false});
         }});
  });
  server.start();
  Client client(server.port(), 4096);
  client.get("/");
  released.wait();
}

}  // namespace
}  // namespace restante::net
