// The edge as a whole: connections, order, background jobs, and how it stops.
#include "net/edge.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/error.h"
#include "net/test_edge.h"

namespace restante::net {
namespace {

TEST(Edge, ServesManyRequestsOverOneConnection) {
  TestEdge server;
  server.get("/at-once", [](auto&) { return text("quick"); }, http::Run::at_once);
  server.get("/:name", [](auto& request) { return text(std::string(request.param("name"))); });
  server.start();
  Client client = server.client();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.ask("/at-once").body, "quick");
    const Reply reply = client.ask("/pool");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "pool");
    EXPECT_EQ(reply.header("Connection"), "");
  }
}

TEST(Edge, PipelinedRequestsAreAnsweredInOrderWhereverTheyRun) {
  Gate slow;
  TestEdge server;
  server.get("/quick/:n", [](auto& r) { return text("quick" + std::string(r.param("n"))); }, http::Run::at_once);
  server.get("/slow/:n", [&](auto& r) {
    slow.wait();
    return text("slow" + std::string(r.param("n")));
  });
  server.post("/echo", http::Body::required, [](auto& r) { return text("echo:" + r.body); });
  server.start();
  Client client = server.client();
  client.get("/slow/1");
  client.get("/quick/2");
  client.post("/echo", "three");
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfou\r\n1\r\nr\r\n0\r\n\r\n");
  client.get("/slow/5");
  client.get("/quick/6");
  slow.open();
  slow.open();
  for (const char* expected : {"slow1", "quick2", "echo:three", "echo:four", "slow5", "quick6"}) {
    EXPECT_EQ(client.reply().body, expected);
  }
}

TEST(Edge, ConnectionsAreSpreadEvenlyOverTheThreads) {
  Options options = test_options();
  options.io_threads = 4;
  TestEdge server(options);
  server.get("/", [](auto&) { return text("here"); }, http::Run::at_once);
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(server.client());
    clients.back().get("/");
    EXPECT_EQ(clients.back().reply().body, "here");
  }
  for (unsigned thread = 0; thread < 4; ++thread) EXPECT_EQ(server.metrics.connections(thread).Value(), 4) << thread;
}

TEST(Edge, AValidRequestIdIsUsedAndAnInvalidOneIsReplaced) {
  TestEdge server;
  server.get("/", [](auto& r) { return text(r.request_id); });
  server.start();
  EXPECT_EQ(server.ask("/", "X-Request-Id: abc-1\r\n").header("X-Request-Id"), "abc-1");
  EXPECT_NE(server.ask("/", "X-Request-Id: <script>\r\n").header("X-Request-Id"), "<script>");
  const Reply made = server.ask("/");
  EXPECT_EQ(made.header("X-Request-Id"), made.body);
}

TEST(Edge, ANewConnectionBeyondTheCapReplacesAnIdleOne) {
  Options options = test_options();
  options.connections = 2;
  TestEdge server(options);
  server.get("/", [](auto&) { return text("here"); }, http::Run::at_once);
  server.start();
  Client oldest = server.client();
  oldest.get("/");
  oldest.reply();
  Client second = server.client();
  second.get("/");
  second.reply();
  Client new_client = server.client();
  EXPECT_EQ(new_client.ask("/").body, "here");
  const bool first_left = oldest.at_end();
  second.get("/");
  EXPECT_TRUE(first_left);
  EXPECT_EQ(second.reply().body, "here");
}

TEST(Edge, NoMoreThanTheCapComeFromOneAddress) {
  Options options = test_options();
  options.connections_per_address = 1;
  TestEdge server(options);
  server.get("/", [](auto&) { return text("here"); });
  server.start();
  Client first = server.client();
  EXPECT_EQ(first.ask("/").status, 200);
  EXPECT_TRUE(server.client().at_end());
  EXPECT_EQ(first.ask("/").status, 200);
}

TEST(Edge, AnAddressInUseIsNamedInASentence) {
  TestEdge server;
  server.start();
  Options options = test_options();
  options.listen = {{"127.0.0.1", server.port()}};
  TestEdge second(options);
  try {
    second.start();
    FAIL() << "bound twice";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(server.port()) + " is in use"), std::string::npos) << e.what();
  }
}

// --- jobs

TEST(EdgeJobs, RepeatNeverRunTwiceAtOnceAndContinueAfterAnException) {
  Gate three_times;
  std::atomic<int> running{0};
  std::atomic<int> runs{0};
  std::atomic<bool> overlapped{false};
  TestEdge server;
  server.edge.every(std::chrono::milliseconds(1), "busy", [&] {
    if (++running != 1) overlapped = true;
    const int run = ++runs;
    --running;
    if (run % 4 == 0) three_times.open();
    if (run % 2 == 0) throw std::runtime_error("the disk is on fire");
    if (run % 3 == 0) throw 42;
  });
  server.start();
  for (int i = 0; i < 3; ++i) three_times.wait();
  server.edge.stop();
  const int at_stop = runs;
  EXPECT_FALSE(overlapped);
  EXPECT_GE(at_stop, 12);
  const std::string log = server.logged();
  EXPECT_NE(log.find("the disk is on fire"), std::string::npos);
  EXPECT_NE(log.find("\"job\":\"busy\""), std::string::npos);
  EXPECT_EQ(runs, at_stop) << "a job ran after stop()";
  const std::vector<LoopTick> loops = server.edge.loops();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].name, "busy");
  EXPECT_EQ(loops[0].period, std::chrono::milliseconds(1));
  EXPECT_TRUE(loops[0].last_tick_at);
  EXPECT_EQ(loops[0].failures, at_stop / 2 + (at_stop + 3) / 6) << "every second run, and every third of the others";
  EXPECT_EQ(loops[0].failed, at_stop % 2 == 0 || at_stop % 3 == 0);
}

TEST(EdgeJobs, StopWaitsForARunningJob) {
  Gate entered;
  Gate leave;
  std::atomic<bool> finished{false};
  TestEdge server;
  server.edge.every(std::chrono::milliseconds(1), "slow", [&] {
    if (finished) return;  // it may be due once more before stop() begins
    entered.open();
    leave.wait();
    finished = true;
  });
  server.start();
  entered.wait();
  auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
  leave.open();
  stopped.get();
  EXPECT_TRUE(finished);
}

// --- stopping

TEST(EdgeStop, AcceptsNoConnectionAndLetsRunningRequestsFinish) {
  Gate entered;
  Gate leave;
  TestEdge server;
  server.get("/", [&](auto&) {
    entered.open();
    leave.wait();
    return text("finished");
  });
  server.start();
  const std::uint16_t port = server.port();
  Client idle = server.client();
  Client busy = server.client();
  busy.get("/");
  entered.wait();
  auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
  EXPECT_TRUE(idle.at_end());
  leave.open();
  const Reply reply = busy.reply();
  EXPECT_EQ(reply.body, "finished");
  EXPECT_EQ(reply.header("Connection"), "close");
  busy.close();
  stopped.get();
  EXPECT_FALSE(Client(port).connected());
}

TEST(EdgeStop, TwiceOrBeforeStartDoesNothing) {
  TestEdge server;
  server.edge.stop();
  server.edge.stop();
}

// Every kind of request at once, none of which would end by itself. The sanitizer is the proof.
void stop_in_the_middle_of_everything(bool now) {
  Options options = test_options();
  options.timeouts.drain = std::chrono::milliseconds(now ? 600'000 : 50);
  CommitPromise<int> never;
  Gate silent_callback_reached;
  Gate hang;
  TestEdge silent;
  silent.post("/", http::Body::required, [&](auto&) {
    silent_callback_reached.open();
    hang.wait();
    return text("too late");
  });
  silent.start();
  Gate entered;
  {
    TestEdge server(options);
    server.get("/later", [&](auto&) {
      entered.open();
      return http::after(never.commit(), [](int) { return text("never"); });
    });
    server.get("/wait", [&](auto&) {
      entered.open();
      return http::held_poll({{"topic"}, "owner", kNever, [] { return std::nullopt; }, [] { return text("empty"); }});
    });
    server.get("/events", [&](auto&) {
      entered.open();
      return http::events({{"topic"}, "owner", kNever, [] { return http::Events::Step{": hello\n\n"}; }});
    });
    server.get("/forward", [&](auto&) {
      entered.open();
      http::Forward order;
      order.url = silent.url("/");
      order.timeout = kNever;
      order.then = [](http::Forwarded) { return text("never"); };
      return http::forward(std::move(order));
    });
    struct Swallow final : http::BodySink {
      std::optional<http::Response> take(std::string_view) override { return std::nullopt; }
      http::Response finish() override { return text("never"); }
    };
    server.stream("/stream", [&](auto&) {
      entered.open();
      return std::make_unique<Swallow>();
    });
    server.get("/file", [&](auto&) {
      http::Response response;
      const int fd = ::memfd_create("big", MFD_CLOEXEC);
      EXPECT_EQ(::ftruncate(fd, 64 << 20), 0);
      response.content = std::make_shared<http::FileSlice>(
          http::FileSlice{std::shared_ptr<void>(nullptr, [fd](void*) { ::close(fd); }), fd, 0, 64 << 20});
      entered.open();
      return response;
    });
    server.edge.every(std::chrono::milliseconds(1), "tick", [] {});
    server.start();
    std::vector<Client> clients;
    for (const char* path : {"/later", "/wait", "/events", "/forward", "/file"}) {
      clients.push_back(server.client());
      clients.back().get(path);
      entered.wait();
    }
    clients.push_back(server.client());
    clients.back().send("POST /stream HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nsome");
    entered.wait();
    clients.push_back(server.client());
    clients.back().send("GET / HTTP/1.1\r\nHo");
    silent_callback_reached.wait();
    if (now) {
      auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
      // The held poll is answered when the drain has begun.
      EXPECT_EQ(clients[1].reply().body, "empty");
      server.edge.stop_now();
      EXPECT_EQ(stopped.wait_for(kCeiling), std::future_status::ready) << "stop_now() had no effect";
    } else {
      server.edge.stop();
    }
    // The store answers a server that has stopped.
    never.fulfil(1);
    hang.open();
  }
}

TEST(EdgeStop, RequestsThatDoNotEndAreCutWhenTheDrainIsOver) { stop_in_the_middle_of_everything(false); }

TEST(EdgeStop, StopNowEndsAStopThatWouldWaitForMinutes) { stop_in_the_middle_of_everything(true); }

// A forward that ends just when the pool has ended must find all its objects alive.
TEST(EdgeStop, AnswersThatArriveWhileStoppingFindNothingDestroyed) {
  for (int round = 0; round < 20; ++round) {
    TestEdge callback;
    Gate reached;
    Gate leave;
    callback.post("/", http::Body::required, [&](auto&) {
      reached.open();
      leave.wait();
      return text("late");
    });
    callback.start();
    {
      Options options = test_options();
      options.timeouts.drain = std::chrono::milliseconds(0);
      TestEdge server(options);
      server.get("/", [&](auto&) {
        http::Forward order;
        order.url = callback.url("/");
        order.then = [](http::Forwarded) { return text("then"); };
        return http::forward(std::move(order));
      });
      server.start();
      Client client = server.client();
      client.get("/");
      reached.wait();
      auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
      leave.open();
      stopped.get();
    }
  }
}

}  // namespace
}  // namespace restante::net
