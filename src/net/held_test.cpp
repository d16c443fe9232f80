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

// A server whose "/" holds a poll.
struct PollServer {
  explicit PollServer(std::chrono::milliseconds timeout = kNever, const Options& options = test_options())
      : server(options) {
    server.get("/", [this, timeout](auto&) { return poll(timeout); });
    server.get("/next", [](auto&) { return text("next"); });
    server.start();
  }
  // A client whose poll was checked and is held.
  Client waiting_client() {
    Client client = server.client();
    client.get("/");
    poll.looked.wait();
    return client;
  }
  void find() {
    poll.there = true;
    server.ring("topic");
  }

  Poll poll;
  TestEdge server;
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
  PollServer held;
  Client client = held.server.client();
  for (int again = 0; again < 3; ++again) {
    held.poll.there = false;
    client.get("/");
    held.poll.looked.wait();
    held.find();
    EXPECT_EQ(client.reply().body, "found");
    held.poll.looked.wait();
  }
  EXPECT_EQ(held.server.metrics.held_polls.Value(), 0);
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
  PollServer held;
  Client client = held.waiting_client();
  for (int i = 0; i < 5; ++i) {
    held.server.ring("topic");
    held.poll.looked.wait();
  }
  held.poll.there = true;
  held.server.ring("another topic");
  held.server.ring("topic");
  EXPECT_EQ(client.reply().body, "found");
}

TEST(Held, GivesUpWhenTheTimeIsUpAndTheConnectionStaysUsable) {
  PollServer held(std::chrono::milliseconds(1));
  Client client = held.server.client();
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(client.ask("/").body, "empty");
  }
}

TEST(Held, ChecksOnceMoreWhenTheTimeIsUpBecauseTheBellIsOnlyAHint) {
  PollServer held(std::chrono::milliseconds(30));
  held.poll.appears_without_ring = true;
  Client client = held.server.client();
  EXPECT_EQ(client.ask("/").body, "found");
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

// Four threads work for the requests, and at most three of them for one tenant.
TEST(Held, ATenantWhosePollsAreRungLeavesAThreadForOthersWhoeverHoldsThem) {
  std::atomic<bool> blocks{false};
  Gate looked;
  Gate end;
  TestEdge server;
  server.get("/", [&](auto& request) {
    http::HeldPoll poll;
    poll.topics = {"topic"};
    poll.owner = request.header("Authorization");
    poll.tenant = "tenant";
    poll.patience = kNever;
    poll.attempt = [&]() -> std::optional<http::Response> {
      const bool is_rung = blocks;  // before the test goes on
      looked.open();
      if (!is_rung) return std::nullopt;
      end.wait();
      return text("found");
    };
    poll.give_up = [] { return text("empty"); };
    return http::held_poll(std::move(poll));
  });
  server.get("/next", [](auto&) { return text("next"); });
  server.start();
  std::vector<Client> clients;
  for (const char* secret : {"a", "b", "c", "d"}) {
    clients.push_back(server.client());
    clients.back().get("/", "Authorization: Bearer " + std::string(secret) + "\r\n");
    looked.wait();
  }
  blocks = true;
  server.ring("topic");
  for (int i = 0; i < 3; ++i) looked.wait();
  EXPECT_EQ(server.client().ask("/next", "Authorization: Bearer other\r\n").body, "next");
  for (int i = 0; i < 4; ++i) end.open();
  for (Client& client : clients) EXPECT_EQ(client.reply().body, "found");
}

TEST(Held, AnUnfinishedAttemptIsMadeAgainWithoutARing) {
  int attempts = 0;
  TestEdge server;
  server.get("/:patience", [&](auto& request) {
    attempts = 0;
    http::HeldPoll poll;
    poll.topics = {"topic"};
    poll.owner = "owner";
    poll.tenant = "tenant";
    poll.patience = request.param("patience") == "held" ? kNever : std::chrono::milliseconds(0);
    poll.attempt = [&]() -> std::optional<http::Response> {
      return ++attempts == 5 ? std::optional(text("found")) : std::nullopt;
    };
    poll.unfinished = [&] { return attempts < 5; };
    poll.give_up = [] { return text("empty"); };
    return http::held_poll(std::move(poll));
  });
  server.start();
  EXPECT_EQ(server.ask("/held").body, "found");
  EXPECT_EQ(server.ask("/at_once").body, "found") << "however long it takes";
  EXPECT_EQ(attempts, 5);
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
  PollServer held;
  Client client = held.waiting_client();
  client.get("/next");
  held.find();
  EXPECT_EQ(client.reply().body, "found");
  EXPECT_EQ(client.reply().body, "next");
}

TEST(Held, IsAnsweredEmptyWhenTheServerStopsAndSoAreLaterOnes) {
  PollServer held;
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(held.waiting_client());
  clients[0].get("/");
  auto stopped = std::async(std::launch::async, [&] { held.server.edge.stop(); });
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
        const Reply reply = client.ask("/" + std::to_string(seen));
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
  PollServer held(std::chrono::milliseconds(15), options);
  Client client = held.server.client();
  for (int i = 0; i < 40; ++i) client.get("/");
  for (int i = 0; i < 40; ++i) EXPECT_EQ(client.reply().body, "empty");
}

// --- events

// A server whose "/" is a stream of the events that were put into it. Opens `called` when the stream asks for events,
// and `released` when it is destroyed.
class EventServer {
 public:
  explicit EventServer(std::string first = "", std::chrono::milliseconds keep_alive = kNever)
      : waiting_(std::move(first)) {
    server.get("/", [this, keep_alive](auto&) { return stream(keep_alive); });
    server.get("/next", [](auto&) { return text("next"); });
    server.start();
  }
  // A client that has read the head of the stream.
  Client reader() {
    Client client = server.client();
    client.get("/");
    client.read_through("\r\n\r\n");
    return client;
  }
  void put(std::string_view event) {
    change([&] { waiting_ += event; });
  }
  void end() {
    change([&] { over_ = true; });
  }
  void fail() {
    change([&] { broken_ = true; });
  }

  Gate called;
  Gate released;

 private:
  http::Response stream(std::chrono::milliseconds keep_alive) {
    return http::events({{"topic"},
                         "owner",
                         keep_alive,
                         [this, held = open_when_released(released)]() -> std::optional<http::Events::Step> {
                           const std::lock_guard lock(mutex_);
                           called.open();
                           if (broken_) throw Unavailable("no_source");
                           if (over_) return std::nullopt;
                           return http::Events::Step{std::exchange(waiting_, {}), false};
                         }});
  }
  template <class Change>
  void change(Change apply) {
    {
      const std::lock_guard lock(mutex_);
      apply();
    }
    server.ring("topic");
  }

  std::mutex mutex_;
  std::string waiting_;
  bool over_ = false;
  bool broken_ = false;

 public:
  TestEdge server;  // ends before what its streams use
};

TEST(Events, AreChunksOfAnEventStreamAndEndWithTheLastChunk) {
  EventServer events("data: first\n\n");
  Client client = events.server.client();
  client.get("/");
  const std::string head = client.read_through("\r\n\r\n");
  EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_NE(head.find("X-Accel-Buffering: no\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  EXPECT_EQ(client.chunk(), "data: first\n\n");
  events.put("data: second\n\n");
  EXPECT_EQ(client.chunk(), "data: second\n\n");
  events.end();
  EXPECT_EQ(client.chunk(), "");
  EXPECT_EQ(client.ask("/next").body, "next");
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
  EventServer events("", std::chrono::milliseconds(5));
  Client client = events.reader();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.chunk().starts_with(":"));
  events.put("data: x\n\n");
  std::string chunk = client.chunk();
  while (chunk.starts_with(":")) chunk = client.chunk();
  EXPECT_EQ(chunk, "data: x\n\n");
}

TEST(Events, AnHttp10ClientGetsThemWithoutChunksUntilTheClose) {
  EventServer events("data: first\n\n");
  Client client = events.server.client();
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string head = client.read_through("\r\n\r\n");
  EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(client.read(13), "data: first\n\n");
  events.end();
  EXPECT_TRUE(client.at_end());
}

TEST(Events, HeadGetsOnlyTheHead) {
  EventServer events("data: first\n\n");
  Client client = events.server.client();
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.reply(false).header("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.ask("/next").body, "next");
}

TEST(Events, EndWithTheServer) {
  EventServer events;
  Client client = events.reader();
  events.called.wait();
  auto stopped = std::async(std::launch::async, [&] { events.server.edge.stop(); });
  EXPECT_EQ(client.chunk(), "");
  EXPECT_TRUE(client.at_end());
  client.close();
  stopped.get();
}

TEST(Events, AreReleasedWhenTheClientCloses) {
  EventServer events;
  for (int i = 0; i < 2; ++i) {
    Client client = events.reader();
    events.called.wait();
    i == 0 ? client.close() : client.reset();
    events.released.wait();
  }
  EXPECT_EQ(events.server.metrics.held_polls.Value(), 0);
}

TEST(Events, AFailureCutsTheStreamSoThatTheClientReconnects) {
  EventServer events;
  Client client = events.reader();
  events.called.wait();
  events.fail();
  EXPECT_TRUE(client.at_end());
  EXPECT_NE(events.server.logged().find("no_source"), std::string::npos);
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
