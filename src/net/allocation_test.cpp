// Allocations that fail: each one of a request in turn, on any thread of the server. The process goes on, every client
// gets an answer or a closed connection, and the next request works. operator new of this test program is replaced. Not
// with ThreadSanitizer, which has its own operator new.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RESTANTE_HAS_OTHER_NEW
#endif
#endif
#ifndef RESTANTE_HAS_OTHER_NEW
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "net/test_edge.h"

namespace {

std::atomic<long> left{-1};        // allocations until one fails; negative: none fails
thread_local bool exempt = false;  // the test's own thread

void* allocate(std::size_t size) {
  if (!exempt && left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1) == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace restante::net {
namespace {

constexpr long kMost = 5'000;  // far more than a request needs

struct Allocation : testing::Test {
  Allocation() {
    exempt = true;
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
  ~Allocation() override { exempt = false; }

  // Runs `act` with one more allocation before the one that fails, until none fails. `act` returns the status, 0 when
  // the connection was closed.
  template <class Act>
  void fail_each(Act act) {
    long failed = 0;
    for (long n = 0; n < kMost; ++n) {
      left = n;
      const int status = act();
      const bool reached = left.exchange(-1) < 0;
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

  std::atomic<bool> there{false};
  std::atomic<int> jobs{0};
  TestEdge server;
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
    const long wanted = left.exchange(-1);
    there = false;
    Client poll = server.client();
    poll.get("/poll");
    while (held_polls() == 0) std::this_thread::yield();
    left = wanted;
    const int rung = server.ask("/ring").status;
    if (!there) {  // the request that rings had no memory itself
      const long now = left.exchange(-1);
      server.ask("/ring");
      left = now;
    }
    const int found = poll.reply().status;
    while (held_polls() != 0) std::this_thread::yield();
    return found == 200 ? rung : found;
  });
}

TEST_F(Allocation, BackgroundJobsGoOn) {
  for (long n = 0; n < 50; ++n) {
    left = n;
    const int before = jobs;
    while (jobs < before + 3) std::this_thread::yield();
    left = -1;
  }
}

}  // namespace
}  // namespace restante::net
#endif
