// Every kind of answer a handler can give at once: strings, files, later answers, failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/handed_writes.h"
#include "net/test_edge.h"

namespace restante::net {
namespace {

// A file in memory with a gate that opens when the server has released it.
http::Response file_answer(std::string_view bytes, std::uint64_t offset, std::uint64_t length,
                           Gate* released = nullptr) {
  const int fd = ::memfd_create("file", MFD_CLOEXEC);
  EXPECT_EQ(::pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  std::shared_ptr<void> owner(nullptr, [fd, released](void*) {
    ::close(fd);
    if (released) released->open();
  });
  http::Response response;
  response.content = std::make_shared<http::FileSlice>(http::FileSlice{std::move(owner), fd, offset, length});
  return response;
}

TEST(Answer, AStringComesWithItsLengthAndTheSecurityHeaders) {
  TestEdge server;
  server.get("/", [](auto&) {
    http::Response response = http::json(201, R"({"a":1})");
    response.headers.emplace_back("X-Own", "yes");
    return response;
  });
  server.start();
  const Reply reply = server.ask("/");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, R"({"a":1})");
  EXPECT_TRUE(reply.head.starts_with("HTTP/1.1 201 Created\r\n"));
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  EXPECT_EQ(reply.header("X-Own"), "yes");
  EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(reply.header("Cache-Control"), "no-store");
  EXPECT_EQ(reply.header("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
  EXPECT_NE(reply.header("Date"), "");
}

TEST(Answer, AHeaderThatTheRouteSetsIsNotSetTwice) {
  TestEdge server;
  server.get("/", [](auto&) {
    http::Response response = text("page");
    response.headers.emplace_back("cache-control", "no-cache");
    response.headers.emplace_back("Content-Security-Policy", "default-src 'self'");
    return response;
  });
  server.start();
  const std::string head = lower_case(server.ask("/").head);
  const auto count = [&](std::string_view name) {
    std::size_t found = 0;
    for (auto at = head.find(name); at != std::string::npos; at = head.find(name, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("cache-control:"), 1u);
  EXPECT_EQ(count("content-security-policy:"), 1u);
}

TEST(Answer, HeadHasTheLengthAndNoBody) {
  Gate released;
  TestEdge server;
  server.get("/bytes", [](auto&) { return text("12345"); });
  server.get("/file", [&](auto&) { return file_answer("0123456789", 0, 10, &released); });
  server.get("/nothing", [](auto&) { return text("", 204); });
  server.start();
  Client client = server.client();
  for (const auto& [path, length] : {std::pair("/bytes", "5"), std::pair("/file", "10")}) {
    client.send("HEAD " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    const Reply reply = client.reply(false);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("Content-Length"), length);
  }
  released.wait();
  const Reply nothing = client.ask("/nothing");
  EXPECT_EQ(nothing.status, 204);
  EXPECT_EQ(nothing.header("Content-Length"), "");
  // Any byte that had been sent as a body would come before this answer.
  EXPECT_EQ(client.ask("/bytes").body, "12345");
}

TEST(Answer, AFileIsSentFromItsOffsetForItsLengthAndReleased) {
  Gate released;
  TestEdge server;
  server.get("/whole", [&](auto&) { return file_answer("0123456789", 0, 10, &released); });
  server.get("/part", [&](auto&) {
    http::Response response = file_answer("0123456789", 3, 4, &released);
    response.status = 206;
    response.headers.emplace_back("Content-Range", "bytes 3-6/10");
    return response;
  });
  server.get("/none", [&](auto&) { return file_answer("0123456789", 0, 0, &released); });
  server.start();
  Client client = server.client();
  EXPECT_EQ(client.ask("/whole").body, "0123456789");
  const Reply part = client.ask("/part");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "3456");
  EXPECT_EQ(client.ask("/none").body, "");
  for (int i = 0; i < 3; ++i) released.wait();
}

TEST(Answer, ABigFileReachesAReaderWithATinyWindow) {
  std::string bytes(5 << 20, '\0');
  TestEdge server;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 7);
  server.get("/", [&](auto&) { return file_answer(bytes, 0, bytes.size()); });
  server.get("/bytes", [&](auto&) { return text(bytes); });
  server.start();
  Client client(server.port(), 4096);
  EXPECT_TRUE(client.ask("/").body == bytes);
  EXPECT_TRUE(client.ask("/bytes").body == bytes);
}

TEST(Answer, AFileShorterThanPromisedCutsTheConnection) {
  TestEdge server;
  server.get("/", [](auto&) { return file_answer("only this", 0, 100); });
  server.start();
  Client client = server.client();
  const Reply reply = client.ask("/");
  EXPECT_EQ(reply.header("Content-Length"), "100");
  EXPECT_EQ(reply.body, "only this");
  EXPECT_TRUE(client.at_end());
}

TEST(Answer, AReaderThatTakesNothingIsCutAndTheFileIsReleased) {
  Options options = test_options();
  options.timeouts.write_stall = std::chrono::milliseconds(100);
  Gate released;
  const std::string bytes(32 << 20, 'x');
  TestEdge server(options);
  server.get("/", [&](auto&) { return file_answer(bytes, 0, bytes.size(), &released); });
  server.start();
  Client client(server.port(), 4096);
  client.get("/");
  released.wait();
}

TEST(Answer, AFileThatTakesLongIsCutWhenARingFindsThatItMayNotContinue) {
  const std::string bytes(64 << 20, 'x');
  std::atomic<bool> allowed{true};
  Gate released;
  TestEdge server;
  server.get("/", [&](auto&) {
    http::Response response = file_answer(bytes, 0, bytes.size(), &released);
    auto& file = *std::get<std::shared_ptr<http::FileSlice>>(response.content);
    file.topics = {"token"};
    file.may_go_on = [&allowed] { return allowed.load(); };
    return response;
  });
  server.start();
  Client client(server.port(), 4096);
  client.get("/");
  server.ring("token");
  std::size_t got = client.read(8 << 20).size();
  EXPECT_EQ(got, 8u << 20) << "a ring alone cuts nothing";
  allowed = false;
  server.ring("token");
  got += client.read(bytes.size()).size();
  EXPECT_LT(got, bytes.size());
  released.wait();
  EXPECT_EQ(server.metrics.held_polls.Value(), 0);
}

TEST(Answer, ForAFileThatFitsAtOnceMayGoOnIsNotCalled) {
  TestEdge server;
  server.get("/", [&](auto&) {
    http::Response response = file_answer("small", 0, 5);
    std::get<std::shared_ptr<http::FileSlice>>(response.content)->may_go_on = []() -> bool {
      throw Unavailable("must not be called");
    };
    return response;
  });
  server.start();
  EXPECT_EQ(server.ask("/").body, "small");
}

// --- later

TEST(Later, IsAnsweredOnceItIsCommittedOnAnyThread) {
  CommitPromise<int> promise;
  Gate called;
  TestEdge server;
  server.get("/", [&](auto&) {
    called.open();
    return http::after(promise.commit(), [](int value) { return text(std::to_string(value)); });
  });
  server.get("/ready", [](auto&) {
    return http::after(Commit<int>::ready(7), [](int value) { return text(std::to_string(value)); });
  });
  server.start();
  Client client = server.client();
  client.get("/");
  called.wait();
  std::thread([&] { promise.fulfil(42); }).join();
  EXPECT_EQ(client.reply().body, "42");
  EXPECT_EQ(client.ask("/ready").body, "7");
}

TEST(Later, ThatMayBlockIsAnsweredOnThePool) {
  Options options = test_options();
  options.pool_threads = 1;
  std::thread::id handled;
  std::thread::id answered;
  const auto later = [&](http::MayBlock may_block) {
    return [&, may_block](auto&) {
      handled = std::this_thread::get_id();
      http::Response response = http::after(Commit<int>::ready(1), [&](int) {
        answered = std::this_thread::get_id();
        return text("done");
      });
      std::get<std::shared_ptr<http::Later>>(response.content)->may_block = may_block;
      return response;
    };
  };
  TestEdge server(options);
  server.get("/quick", later(http::MayBlock::no));
  server.get("/slow", later(http::MayBlock::on_rows));
  server.start();
  EXPECT_EQ(server.ask("/quick").body, "done");
  EXPECT_NE(answered, handled) << "on the connection's own thread";
  EXPECT_EQ(server.ask("/slow").body, "done");
  EXPECT_EQ(answered, handled) << "on the one thread of the pool";
}

TEST(Later, MayLeadToAnyOtherAnswer) {
  TestEdge server;
  server.get("/file",
             [](auto&) { return http::after(Commit<int>::ready(1), [](int) { return file_answer("abc", 1, 2); }); });
  server.get("/wait", [](auto&) {
    return http::after(Commit<int>::ready(1), [](int) {
      return http::held_poll(
          {{"t"}, "o", kNever, [] { return std::optional(text("found")); }, [] { return text("empty"); }});
    });
  });
  server.start();
  EXPECT_EQ(server.ask("/file").body, "bc");
  EXPECT_EQ(server.ask("/wait").body, "found");
}

TEST(Answer, AFailureAfterAWriteWasHandedToTheStoreSaysThatItMayBeStored) {
  TestEdge server;
  const auto hand_over_and_raise = [](int writes, auto failure) {
    return [=](auto&) -> http::Response {
      for (int i = 0; i < writes; ++i) HandedWrites::add();
      throw failure;
    };
  };
  server.get("/no-memory", hand_over_and_raise(0, std::bad_alloc()));
  server.get("/no-memory-after-write", hand_over_and_raise(1, std::bad_alloc()));
  server.get("/write-failed", hand_over_and_raise(1, Unavailable("it")));
  server.get("/no-memory-for-the-answer", [](auto&) {
    HandedWrites::add();
    return http::after(Commit<int>::ready(1), [](int) -> http::Response { throw std::bad_alloc(); });
  });
  server.start();
  Client client = server.client();
  const auto code = [&client](const char* path) {
    const std::string body = client.ask(path).body;
    const auto at = body.find("\"code\":\"") + 8;
    return body.substr(at, body.find('"', at) - at);
  };
  EXPECT_EQ(code("/no-memory-after-write"), "outcome_unknown");
  EXPECT_EQ(code("/no-memory-for-the-answer"), "outcome_unknown");
  EXPECT_EQ(code("/write-failed"), "platform_unavailable") << "it is the write that says so";
  EXPECT_EQ(code("/no-memory"), "platform_unavailable") << "each request is judged by its own writes";
}

// Each failure must end in the same answer wherever it is thrown.
using Thrower = std::function<void()>;
struct Failure {
  const char* name;
  Thrower raise;
  int status;
  const char* code;
  const char* retry_after;
};
const Failure kFailures[] = {
    {"unavailable", [] { throw Unavailable("/secret/path is missing"); }, 503, "platform_unavailable", "1"},
    {"storage_full", [] { throw StorageFull("/secret/path is full"); }, 507, "storage_full", ""},
    {"outcome_unknown", [] { throw OutcomeUnknown("/secret/path failed"); }, 503, "outcome_unknown", "1"},
    {"logic_error", [] { throw std::logic_error("SELECT secret"); }, 500, "internal", ""},
    {"bad_alloc", [] { throw std::bad_alloc(); }, 503, "platform_unavailable", "1"},
    {"not an exception", [] { throw 42; }, 500, "internal", ""},
};

template <class T>
T raised(const Thrower& raise) {
  raise();
  throw std::logic_error("nothing was thrown");
}

void expect_answer(const Reply& reply, const Failure& failure) {
  EXPECT_EQ(reply.status, failure.status);
  EXPECT_NE(reply.body.find("\"code\":\"" + std::string(failure.code) + "\""), std::string::npos) << reply.body;
  EXPECT_EQ(reply.body.find("secret"), std::string::npos) << reply.body;
  EXPECT_EQ(reply.header("Retry-After"), failure.retry_after);
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
}

class FailureTest : public ::testing::TestWithParam<Failure> {};

TEST_P(FailureTest, IsAnsweredWithoutDetailsWhereverItIsThrown) {
  const Failure& failure = GetParam();
  TestEdge server;
  const auto raise = [&](auto&) { return raised<http::Response>(failure.raise); };
  server.get("/at-once", raise, http::Run::at_once);
  server.get("/pool", raise);
  server.post("/body", http::Body::required, raise);
  server.get("/commit", [&](auto&) {
    CommitPromise<int> promise;
    try {
      failure.raise();
    } catch (...) {
      promise.fail(std::current_exception());
    }
    return http::after(promise.commit(), [](int) { return text("durable"); });
  });
  server.get("/wait", [&](auto&) {
    return http::held_poll(
        {{"t"}, "o", kNever, [&] { return raised<std::optional<http::Response>>(failure.raise); }, {}});
  });
  server.get("/woken", [&, rung = std::make_shared<bool>(false)](auto&) {
    const auto attempt = [&server, &failure, rung]() -> std::optional<http::Response> {
      if (std::exchange(*rung, true)) return raised<std::optional<http::Response>>(failure.raise);
      server.ring("t");
      return std::nullopt;
    };
    return http::held_poll({{"t"}, "o", kNever, attempt, {}});
  });
  http::Route guarded;
  guarded.pattern = "/guard";
  guarded.admit = [&](auto&) { return raised<std::optional<http::Response>>(failure.raise); };
  guarded.handle = [](auto&) { return text("let in"); };
  server.router.add(guarded);
  struct Broken final : http::BodySink {
    explicit Broken(const Failure& what) : failure_(what) {}
    std::optional<http::Response> take(std::string_view) override {
      return raised<std::optional<http::Response>>(failure_.raise);
    }
    http::Response finish() override { return text("taken"); }
    const Failure& failure_;
  };
  server.stream("/stream", [&](auto&) { return std::make_unique<Broken>(failure); });
  server.stream("/receive", [&](auto&) { return raised<std::unique_ptr<http::BodySink>>(failure.raise); });
  server.start();

  Client client = server.client();
  for (const char* path : {"/at-once", "/pool", "/commit", "/wait", "/woken", "/guard"}) {
    SCOPED_TRACE(path);
    client.get(path);
    expect_answer(client.reply(), failure);
  }
  client.post("/body", "{}");
  expect_answer(client.reply(), failure);
  for (const char* path : {"/stream", "/receive"}) {
    SCOPED_TRACE(path);
    Client one = server.client();
    one.post(path, "bytes");
    expect_answer(one.reply(), failure);
  }
  // The connection with all these failures still serves.
  client.get("/pool");
  expect_answer(client.reply(), failure);
}

INSTANTIATE_TEST_SUITE_P(All, FailureTest, ::testing::ValuesIn(kFailures), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(Answer, AStatusOutsideTheUsualClassesIsCountedWithoutAnInvalidIndex) {
  TestEdge server;
  server.get("/", [](auto&) { return text("odd", 799); });
  server.start();
  EXPECT_EQ(server.ask("/").status, 799);
}

}  // namespace
}  // namespace restante::net
