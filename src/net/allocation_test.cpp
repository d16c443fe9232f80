// Allocations that fail: each one of a request in turn, on any thread of the server. The process goes on, every client
// gets an answer or a closed connection, and the next request works. The handlers are the test's own; those of the API
// with a real store are in tests/no_memory.
#include "base/test_allocations.h"
#ifndef RESTANTE_HAS_OTHER_NEW
#include <gtest/gtest.h>

#include <atomic>

#include "net/test_edge.h"

namespace restante::net {
namespace {

constexpr long kMost = 5'000;  // far more than a request needs

// With one I/O thread a request is answered after everything that came before it.
Options one_io_thread() {
  Options options = test_options();
  options.io_threads = 1;
  return options;
}

struct Allocation : testing::Test {
  Allocation() {
    server.get("/at-once", [](auto&) { return text("at once"); }, http::Run::at_once);
    server.get("/pool", [](auto&) { return text("on the pool"); });
    server.get("/bytes", [](auto&) { return http::from_bytes([] { return text("bytes"); }); });
    server.post("/body", http::Body::required, [](http::Request& request) { return text(request.body); });
    server.get("/poll", [this](auto&) {
      return http::held_poll(
          {{"topic"},
           "owner",
           kNever,
           [this]() -> std::optional<http::Response> { return there ? std::optional(text("found")) : std::nullopt; },
           [] { return text("empty"); }});
    });
    server.get("/ring", [this](auto&) {
      there = true;
      server.edge.bell().ring("topic");
      return text("rung");
    });
    server.edge.every(std::chrono::milliseconds(1), "job", [this] { ++jobs; });
    server.start();
  }

  // Runs `act` with one more allocation before the one that fails, until none fails. `act` returns the status, 0 when
  // the connection was closed.
  template <class Act>
  void fail_each(Act act) {
    long failed = 0;
    for (long n = 0; n < kMost; ++n) {
      FailingAllocation::after(n);
      const int status = act();
      const bool reached = FailingAllocation::end();
      EXPECT_TRUE(status == 200 || status == 503 || status == 0) << status << " when allocation " << n << " failed";
      failed += status == 503;
      ASSERT_EQ(server.ask("/pool").status, 200) << "after allocation " << n << " failed";
      if (!reached) {
        EXPECT_GT(failed, 0) << "no failure was answered";
        return;
      }
    }
    ADD_FAILURE() << "it always fails";
  }

  double held_polls() { return server.metrics.held_polls.Value(); }

  const FailingAllocation::Exempt exempt;
  std::atomic<bool> there{false};
  std::atomic<int> jobs{0};
  TestEdge server{one_io_thread()};
};

TEST_F(Allocation, ARequestThatGetsNoMemoryIsAnsweredAndTheServerGoesOn) {
  for (const char* path : {"/at-once", "/pool", "/bytes"}) {
    SCOPED_TRACE(path);
    fail_each([&] { return server.ask(path).status; });
  }
  fail_each([&] {
    Client client = server.client();
    client.post("/body", std::string(10'000, 'x'));
    return client.reply().status;
  });
}

TEST_F(Allocation, AHeldPollIsAnsweredAlthoughThereIsNoMemoryForTheRing) {
  fail_each([&] {
    const long wanted = FailingAllocation::pause();
    there = false;
    Client poll = server.client();
    poll.get("/poll");
    while (held_polls() == 0) std::this_thread::yield();
    FailingAllocation::after(wanted);
    const int rung = server.ask("/ring").status;
    if (!there) {  // the request that rings had no memory itself
      const long now = FailingAllocation::pause();
      server.ask("/ring");
      FailingAllocation::after(now);
    }
    const int found = poll.reply().status;
    while (held_polls() != 0) std::this_thread::yield();
    return found == 200 ? rung : found;
  });
}

TEST_F(Allocation, APollThatGetsNoMemoryToWaitIsAnsweredOrClosed) {
  fail_each([&] {
    there = false;
    Client poll = server.client();
    poll.get("/poll");
    while (held_polls() == 0 && !FailingAllocation::has_failed()) std::this_thread::yield();
    server.ask("/at-once");  // after it the poll waits, or has failed
    const long wanted = FailingAllocation::pause();
    server.ask("/ring");
    FailingAllocation::after(wanted);
    const int status = poll.reply().status;
    while (held_polls() != 0) std::this_thread::yield();
    return status;
  });
}

TEST_F(Allocation, BackgroundJobsGoOn) {
  for (long n = 0; n < 50; ++n) {
    FailingAllocation::after(n);
    const int before = jobs;
    while (jobs < before + 3) std::this_thread::yield();
    FailingAllocation::end();
  }
}

}  // namespace
}  // namespace restante::net
#endif
