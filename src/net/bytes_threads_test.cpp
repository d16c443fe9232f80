// The separate threads that block on the place of the files, so that no other request has to wait.
#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "base/error.h"
#include "net/test_pieces.h"

namespace restante::net {
namespace {

// Takes nothing until the test allows it.
struct Stuck final : http::BodySink {
  Stuck(Gate& begun, std::latch& over) : begun_(begun), over_(over) {}
  std::optional<http::Response> take(std::string_view) override {
    if (!over_.try_wait()) begun_.open();
    over_.wait();
    return std::nullopt;
  }
  http::Response finish() override { return text("taken"); }

 private:
  Gate& begun_;
  std::latch& over_;
};

// In all the ways in which a request can wait for the place of the files.
TEST(BytesThreads, WhileTheyAllHangAllOtherRequestsAreServed) {
  Gate hanging;
  std::latch over(1);
  const auto hang = [&] {
    hanging.open();
    over.wait();
  };
  RemoteBytes far;
  far.reading = [&](std::uint64_t) { hang(); };
  std::atomic<bool> found{false};
  Gate looked;
  TestEdge server(options_with(1, 3));
  server.get("/read", [&](auto&) { return far.answer(0, 10); });
  server.get("/open", [&](auto&) {
    return http::from_bytes([&] {
      hang();
      return text("opened");
    });
  });
  server.stream("/upload", [&](auto&) { return std::make_unique<Stuck>(hanging, over); });
  struct Small final : http::BodySink {
    std::optional<http::Response> take(std::string_view) override { return std::nullopt; }
    http::Response finish() override { return text("small"); }
  };
  server.stream("/small", [](auto&) { return std::make_unique<Small>(); });
  server.get("/now", [](auto&) { return text("now"); }, http::Run::at_once);
  server.get("/row", [](auto&) { return text("row"); });
  server.get("/commit", [](auto&) {
    http::Response response = http::after(Commit<int>::ready(1), [](int) { return text("commit"); });
    std::get<std::shared_ptr<http::Later>>(response.content)->may_block = http::MayBlock::on_rows;
    return response;
  });
  server.get("/poll", [&](auto&) {
    const auto attempt = [&]() -> std::optional<http::Response> {
      looked.open();
      return found ? std::optional(text("found")) : std::nullopt;
    };
    return http::held_poll({{"topic"}, "owner", kNever, attempt, [] { return text("empty"); }});
  });
  server.start();

  Client read = server.client();
  read.get("/read");
  Client opened = server.client();
  opened.get("/open");
  Client upload = server.client();
  upload.post("/upload", std::string(100'000, 'x'));
  for (int i = 0; i < 3; ++i) hanging.wait();
  Client queued = server.client();
  queued.get("/open");

  Client poll = server.client();
  poll.get("/poll");
  looked.wait();
  for (const char* path : {"/now", "/row", "/commit"}) {
    EXPECT_EQ(server.ask(path).body, path + 1);
  }
  Client small = server.client();
  small.post("/small", "bytes that came with their head");
  EXPECT_EQ(small.reply().body, "small");
  found = true;
  server.ring("topic");
  EXPECT_EQ(poll.reply().body, "found");

  over.count_down();
  EXPECT_EQ(read.reply().body, bytes_from(0, 10));
  EXPECT_EQ(opened.reply().body, "opened");
  EXPECT_EQ(upload.reply().body, "taken");
  EXPECT_EQ(queued.reply().body, "opened");
}

TEST(BytesThreads, AnUploadThatArrivedWithItsHeadIsTakenByThemUnlessItIsSmall) {
  for (const bool small : {true, false}) {
    Options options = options_with(1, 1);
    options.body_without_bytes = small ? 5 : 4;
    std::thread::id received;
    std::thread::id finished;
    TestEdge server(options);
    struct Noting final : http::BodySink {
      explicit Noting(std::thread::id& place) : at(place) {}
      std::optional<http::Response> take(std::string_view) override { return std::nullopt; }
      http::Response finish() override {
        at = std::this_thread::get_id();
        return text("taken");
      }
      std::thread::id& at;
    };
    server.stream("/", [&](auto&) {
      received = std::this_thread::get_id();
      return std::make_unique<Noting>(finished);
    });
    server.start();
    Client client = server.client();
    client.post("/", "bytes");
    EXPECT_EQ(client.reply().body, "taken");
    EXPECT_EQ(received == finished, small);
  }
}

TEST(BytesThreads, WithoutThemThePoolDoesTheirWork) {
  std::thread::id handled;
  std::thread::id answered;
  std::thread::id read;
  RemoteBytes far;
  far.reading = [&](std::uint64_t) { read = std::this_thread::get_id(); };
  TestEdge server(options_with(1, 0));
  server.get("/", [&](auto&) {
    handled = std::this_thread::get_id();
    return http::from_bytes([&] {
      answered = std::this_thread::get_id();
      return far.answer(0, 10);
    });
  });
  server.start();
  EXPECT_EQ(server.ask("/").body, bytes_from(0, 10));
  EXPECT_EQ(answered, handled);
  EXPECT_EQ(read, handled);
}

TEST(BytesThreads, TheirResultsDuringAStopFindNothingDestroyed) {
  for (int round = 0; round < 20; ++round) {
    Gate hanging;
    std::latch over(1);
    RemoteBytes far;
    far.reading = [&](std::uint64_t) {
      hanging.open();
      over.wait();
    };
    Options options = options_with(1, 2);
    options.timeouts.drain = std::chrono::milliseconds(0);
    TestEdge server(options);
    server.get("/", [&](auto&) {
      http::Response response = far.answer(0, 3 * kPiece);
      std::get<std::shared_ptr<http::FileSlice>>(response.content)->may_go_on = [] { return true; };
      return response;
    });
    server.stream("/upload", [&](auto&) { return std::make_unique<Stuck>(hanging, over); });
    server.start();
    Client reader = server.client();
    reader.get("/");
    Client writer = server.client();
    writer.post("/upload", std::string(100'000, 'x'));
    for (int i = 0; i < 2; ++i) hanging.wait();
    auto stopped = std::async(std::launch::async, [&] { server.edge.stop(); });
    over.count_down();
    stopped.get();
    far.released.wait();
  }
}

}  // namespace
}  // namespace restante::net
