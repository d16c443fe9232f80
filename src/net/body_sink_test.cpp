// Bodies that are streamed into a BodySink: complete ones, refused ones, cut ones, slow ones.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/error.h"
#include "net/test_edge.h"

namespace restante::net {
namespace {

// What the sinks received of the bodies that a test sent.
struct Uploads {
  std::mutex mutex;
  std::string bytes;
  std::size_t largest = 0;
  std::atomic<int> finished{0};
  Gate taken;
  Gate destroyed;
  std::function<std::optional<http::Response>(std::size_t total)> answer_after;  // after each piece
  std::function<void()> on_destroy;
};

class Recorder final : public http::BodySink {
 public:
  explicit Recorder(Uploads& uploads) : uploads_(uploads) {}
  ~Recorder() override {
    if (uploads_.on_destroy) uploads_.on_destroy();
    uploads_.destroyed.open();
  }
  std::optional<http::Response> take(std::string_view bytes) override {
    std::size_t total = 0;
    {
      const std::lock_guard lock(uploads_.mutex);
      uploads_.bytes += bytes;
      uploads_.largest = std::max(uploads_.largest, bytes.size());
      total = uploads_.bytes.size();
    }
    uploads_.taken.open();
    return uploads_.answer_after ? uploads_.answer_after(total) : std::nullopt;
  }
  http::Response finish() override {
    ++uploads_.finished;
    return text("taken " + std::to_string(uploads_.bytes.size()));
  }

 private:
  Uploads& uploads_;
};

void take_uploads(TestEdge& server, Uploads& uploads) {
  server.stream("/up", [&](auto&) { return std::make_unique<Recorder>(uploads); });
  server.get("/health", [](auto&) { return text("ok"); }, http::Run::at_once);
  server.start();
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 >> 5);
  return bytes;
}

std::string chunked(std::string_view bytes, std::size_t step) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const std::string_view piece = bytes.substr(at, step);
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    out.append(size).append(piece).append("\r\n");
  }
  return out + "0\r\n\r\n";
}

constexpr std::string_view kChunkedHead = "POST /up HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string sized_head(std::size_t size) {
  return "POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
}

TEST(BodySink, GetsASizedBodyWholeAndInOrderAndTheConnectionGoesOn) {
  Uploads uploads;
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  for (const std::size_t size : {std::size_t(1), std::size_t(4096), std::size_t(256 << 10), std::size_t(3'000'001)}) {
    uploads.bytes.clear();
    const std::string body = pattern(size);
    client.send(sized_head(size) + body);
    EXPECT_EQ(client.reply().body, "taken " + std::to_string(size));
    uploads.destroyed.wait();
    EXPECT_TRUE(uploads.bytes == body) << size;
  }
  EXPECT_EQ(uploads.finished, 4);
}

TEST(BodySink, GetsAChunkedBodyWholeWhateverTheChunksAre) {
  Uploads uploads;
  TestEdge server;
  take_uploads(server, uploads);
  const std::string body = pattern(700'001);
  for (const std::size_t step : {std::size_t(7), std::size_t(4096), std::size_t(300'000)}) {
    uploads.bytes.clear();
    Client client = server.client();
    client.send(kChunkedHead);
    client.send(chunked(body, step));
    EXPECT_EQ(client.ask("/health").body, "taken 700001");
    EXPECT_EQ(client.reply().body, "ok") << "what follows the last chunk is the next request";
    uploads.destroyed.wait();
    EXPECT_TRUE(uploads.bytes == body) << step;
  }
}

TEST(BodySink, AnEmptyBodyIsFinishedWithoutATake) {
  Uploads uploads;
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(0));
  EXPECT_EQ(client.reply().body, "taken 0");
  client.send(std::string(kChunkedHead) + "0\r\n\r\n");
  EXPECT_EQ(client.reply().body, "taken 0");
  EXPECT_EQ(uploads.finished, 2);
}

TEST(BodySink, AClientThatExpects100GetsItUnlessItIsRefused) {
  Uploads uploads;
  TestEdge server;
  server.router.add([] {
    http::Route route;
    route.method = http::Method::post;
    route.pattern = "/closed";
    route.body = http::Body::stream;
    route.admit = [](auto&) { return std::optional(text("no", 401)); };
    route.receive = [](auto&) -> std::unique_ptr<http::BodySink> { throw std::logic_error("was let in"); };
    return route;
  }());
  take_uploads(server, uploads);
  Client client = server.client();
  client.send("POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.reply().body, "taken 3");
  for (const char* head :
       {"POST /closed HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
        "POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n"}) {
    Client refused = server.client();
    refused.send(head);
    const int status = refused.reply().status;
    EXPECT_TRUE(status == 401 || status == 413) << status;
    EXPECT_TRUE(refused.at_end());
  }
}

TEST(BodySink, AnEarlyRefusalIsAnsweredAlthoughTheClientSendsNoMore) {
  Uploads uploads;
  uploads.answer_after = [](std::size_t) { return std::optional(text("not this", 413)); };
  TestEdge server;
  take_uploads(server, uploads);
  for (const std::string& head : {std::string(kChunkedHead) + "5\r\nfirst\r\n", sized_head(1'000'000) + "first"}) {
    Client client = server.client();
    client.send(head);
    expect_last_answer(client, 413, "not this");
    uploads.destroyed.wait();
  }
  EXPECT_EQ(uploads.finished, 0);
}

TEST(BodySink, AFailureWhileTheClientSendsNoMoreIsAnsweredToo) {
  Uploads uploads;
  uploads.answer_after = [](std::size_t) -> std::optional<http::Response> { throw StorageFull("full"); };
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(1'000'000) + "first");
  EXPECT_EQ(client.reply().status, 507);
  uploads.destroyed.wait();
}

TEST(BodySink, AClientThatKeepsSendingStillSeesTheRefusal) {
  Uploads uploads;
  uploads.answer_after = [](std::size_t total) {
    return total > 600'000 ? std::optional(text("too much", 413)) : std::nullopt;
  };
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(4'000'000));
  auto sender = std::async(std::launch::async, [&] { client.send(pattern(4'000'000)); });
  EXPECT_EQ(client.reply().body, "too much");
  client.finish_sending();
  sender.get();
  uploads.destroyed.wait();
  EXPECT_EQ(uploads.finished, 0);
}

TEST(BodySink, ARefusalOfTheLastPieceLeavesTheConnectionUsable) {
  Uploads uploads;
  uploads.answer_after = [](std::size_t) { return std::optional(text("not this", 400)); };
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(5) + "whole");
  EXPECT_EQ(client.reply().body, "not this");
  EXPECT_EQ(client.ask("/health").body, "ok");
}

TEST(BodySink, BodiesThatArriveWithTheirHeadsInOneWriteAreTakenOneByOne) {
  Uploads uploads;
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(3) + "one" + sized_head(5) + "three" + "GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.reply().body, "taken 3");
  EXPECT_EQ(client.reply().body, "taken 8");
  EXPECT_EQ(client.reply().body, "ok");
  EXPECT_EQ(uploads.bytes, "onethree");
  EXPECT_EQ(uploads.finished, 2);
}

TEST(BodySink, AFailureOverABodyThatCameWithItsHeadLeavesTheConnectionUsable) {
  Uploads uploads;
  uploads.answer_after = [](std::size_t) -> std::optional<http::Response> { throw StorageFull("full"); };
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(5) + "whole");
  EXPECT_EQ(client.reply().status, 507);
  uploads.destroyed.wait();
  EXPECT_EQ(uploads.finished, 0);
  EXPECT_EQ(client.ask("/health").body, "ok");
}

TEST(BodySink, AClientThatClosedBefore100WasSentIsCut) {
  Uploads uploads;
  Gate called;
  Gate left;
  TestEdge server;
  server.stream("/later", [&](auto&) {
    called.open();
    left.wait();
    return std::make_unique<Recorder>(uploads);
  });
  take_uploads(server, uploads);
  Client client = server.client();
  client.send("POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  called.wait();
  client.reset();
  left.open();
  uploads.destroyed.wait();
  EXPECT_EQ(uploads.finished, 0);
  EXPECT_EQ(uploads.bytes, "");
}

TEST(BodySink, ABodyThatIsCutDestroysItUnfinished) {
  Uploads uploads;
  TestEdge server;
  take_uploads(server, uploads);
  for (int how = 0; how < 3; ++how) {
    Client client = server.client();
    client.send(sized_head(1'000'000) + "some of it");
    uploads.taken.wait();
    if (how == 0) client.close();
    if (how == 1) client.reset();
    if (how == 2) {
      client.finish_sending();
      EXPECT_EQ(client.reply().status, 400);
    }
    uploads.destroyed.wait();
  }
  Client client = server.client();
  client.send(std::string(kChunkedHead) + "5\r\nfirst\r\nnot a size\r\n");
  EXPECT_EQ(client.reply().status, 400);
  uploads.destroyed.wait();
  EXPECT_EQ(uploads.finished, 0);
}

TEST(BodySink, ASenderThatStopsIsTimedOutAndItIsDestroyedUnfinished) {
  Options options = test_options();
  options.timeouts.body_grace = std::chrono::milliseconds(50);
  options.min_rate = 1 << 30;
  Uploads uploads;
  TestEdge server(options);
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(1'000'000) + "some of it");
  EXPECT_EQ(client.reply().status, 408);
  uploads.destroyed.wait();
  EXPECT_EQ(uploads.finished, 0);
}

TEST(BodySink, AnEndlessChunkedBodyEndsAtTheLimit) {
  Options options = test_options();
  options.limits.stream_body = 100'000;
  Uploads uploads;
  TestEdge server(options);
  take_uploads(server, uploads);
  Client client = server.client();
  const std::string piece = "3e8\r\n" + std::string(1000, 'x') + "\r\n";
  client.send(kChunkedHead);
  for (int i = 0; i < 101; ++i) client.send(piece);
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_NE(reply.body.find("\"max\":100000"), std::string::npos) << reply.body;
  uploads.destroyed.wait();
  EXPECT_LE(uploads.bytes.size(), 100'000u);
}

// The pool holds one piece, the connection the next, the kernel its buffers: then the client cannot send more.
TEST(BodySink, ASlowSinkStopsTheSenderInsteadOfFillingMemory) {
  constexpr std::size_t kBody = 100 << 20;
  Gate release;
  Uploads uploads;
  uploads.answer_after = [&](std::size_t) -> std::optional<http::Response> {
    release.wait();
    return text("enough", 413);
  };
  TestEdge server;
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(kBody));
  const std::size_t accepted = client.send_until_full(kBody);
  EXPECT_LT(accepted, kBody / 4);
  {
    const std::lock_guard lock(uploads.mutex);
    EXPECT_LE(uploads.bytes.size(), 256u << 10);
  }
  release.open();
  EXPECT_EQ(client.reply().body, "enough");
}

TEST(BodySink, RemovingACutUploadDelaysNoOtherRequest) {
  Options options = test_options();
  options.io_threads = 1;
  Gate clearing;
  Gate slow_disk;
  Uploads uploads;
  uploads.on_destroy = [&] {
    clearing.open();
    slow_disk.wait();
  };
  TestEdge server(options);
  take_uploads(server, uploads);
  Client client = server.client();
  client.send(sized_head(1'000'000) + "some of it");
  uploads.taken.wait();
  client.reset();
  clearing.wait();
  EXPECT_EQ(server.ask("/health").body, "ok");
  slow_disk.open();
  uploads.destroyed.wait();
}

TEST(BodySink, ABodyWithoutFramingAndAnUnexpectedBodyAreRefused) {
  Uploads uploads;
  TestEdge server;
  take_uploads(server, uploads);
  Client unframed = server.client();
  unframed.send("POST /up HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(unframed.reply().status, 411);
  Client unexpected = server.client();
  unexpected.send("GET /health HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(unexpected.reply().status, 400);
  EXPECT_TRUE(unexpected.at_end());
}

}  // namespace
}  // namespace restante::net
