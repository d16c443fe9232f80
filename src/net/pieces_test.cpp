// Answers whose content is not a file on disk: read piece by piece on the threads for file content, and sent.
#include <gtest/gtest.h>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>

#include "base/error.h"
#include "base/fd.h"
#include "net/socket.h"
#include "net/test_pieces.h"

namespace restante::net {
namespace {

struct Threads {
  const char* name;
  unsigned bytes;
};
class PiecesTest : public ::testing::TestWithParam<Threads> {
 protected:
  RemoteBytes far;
  TestEdge server{options_with(2, GetParam().bytes)};
};
INSTANTIATE_TEST_SUITE_P(Threads, PiecesTest, ::testing::Values(Threads{"OfThePool", 0}, Threads{"OfTheirOwn", 2}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(PiecesTest, EveryByteArrivesOnceForEverySizeAndTheConnectionStaysUsable) {
  std::uint64_t length = 0;
  server.get("/", [&](auto&) { return far.answer(0, length); });
  server.start();
  Client client = server.client();
  for (const std::size_t most : {std::numeric_limits<std::size_t>::max(), kPiece - 1, std::size_t{1000}}) {
    far.most = most;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece,
                                   3 * kPiece + 17, std::size_t{5} << 20}) {
      length = far.size = size;
      const Reply reply = client.ask("/");
      EXPECT_EQ(reply.header("Content-Length"), std::to_string(size));
      EXPECT_TRUE(reply.body == bytes_from(0, size)) << size << " by " << most;
      far.released.wait();
    }
  }
  EXPECT_EQ(far.largest, kPiece) << "no more is held than that";
}

TEST_P(PiecesTest, ARangeIsReadFromItsOffsetAndNoFurther) {
  far.size = 3 * kPiece;
  server.get("/", [&](auto&) {
    http::Response response = far.answer(kPiece - 5, kPiece + 10);
    response.status = 206;
    return response;
  });
  std::atomic<std::uint64_t> furthest{0};
  far.reading = [&](std::uint64_t at) { furthest = at; };
  server.start();
  const Reply reply = server.ask("/");
  EXPECT_EQ(reply.status, 206);
  EXPECT_TRUE(reply.body == bytes_from(kPiece - 5, kPiece + 10));
  EXPECT_EQ(furthest, 2 * kPiece - 5);
}

TEST_P(PiecesTest, HeadReadsNothing) {
  server.get("/", [&](auto&) { return far.answer(0, 1000); });
  server.start();
  Client client = server.client();
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.reply(false).header("Content-Length"), "1000");
  far.released.wait();
  EXPECT_EQ(far.reads, 0);
  EXPECT_EQ(client.ask("/").body, bytes_from(0, 1000));
}

TEST_P(PiecesTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  server.get("/far", [&](auto&) { return far.answer(0, kPiece + 1); });
  server.get("/near", [](auto&) { return text("near"); });
  server.get("/now", [](auto&) { return text("now"); }, http::Run::at_once);
  server.start();
  Client client = server.client();
  std::string all;
  for (const char* path : {"/far", "/near", "/far", "/now", "/far"}) {
    all += "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  client.send(all);
  const std::string bytes = bytes_from(0, kPiece + 1);
  for (const std::string& expected : {bytes, std::string("near"), bytes, std::string("now"), bytes}) {
    EXPECT_TRUE(client.reply().body == expected);
  }
}

TEST_P(PiecesTest, ContentShorterThanPromisedCutsTheConnection) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{kPiece}}) {
    TestEdge cutting(options_with(2, GetParam().bytes));
    far.size = size;
    cutting.get("/", [&](auto&) { return far.answer(0, kPiece + 100); });
    cutting.start();
    Client client = cutting.client();
    const Reply reply = client.ask("/");
    EXPECT_EQ(reply.header("Content-Length"), std::to_string(kPiece + 100));
    EXPECT_TRUE(reply.body == bytes_from(0, size));
    EXPECT_TRUE(client.at_end());
    const std::string log = cutting.logged();
    EXPECT_NE(log.find(R"("answer_cut")"), std::string::npos) << log;
    EXPECT_NE(log.find("\"sent\":" + std::to_string(size)), std::string::npos) << log;
  }
}

TEST_P(PiecesTest, ContentThatCannotBeReadCutsTheConnectionAndIsLogged) {
  server.get("/", [&](auto&) { return far.answer(0, kEndless); });
  std::function<void()> fail;
  std::uint64_t where = 0;
  far.reading = [&](std::uint64_t at) {
    if (at == where) fail();
  };
  server.start();
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{kPiece}}) {
    for (const auto& failure : {std::function<void()>([] { throw Unavailable("the bucket is missing"); }),
                                std::function<void()>([] { throw 42; })}) {
      where = at;
      fail = failure;
      Client client = server.client();
      const Reply reply = client.ask("/");
      EXPECT_EQ(reply.status, 200);
      EXPECT_TRUE(reply.body == bytes_from(0, at));
      EXPECT_TRUE(client.at_end());
      far.released.wait();
    }
  }
  const std::string log = server.logged();
  EXPECT_NE(log.find(R"("reason":"the bucket is missing")"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("reason":"not an exception")"), std::string::npos) << log;
}

TEST_P(PiecesTest, NothingIsReadForAClientThatHasClosed) {
  server.get("/", [&](auto&) { return far.answer(0, std::numeric_limits<std::int64_t>::max()); });
  far.size = std::numeric_limits<std::uint64_t>::max();
  server.start();
  Client client = server.client();
  client.get("/");
  EXPECT_EQ(client.read(kPiece).size(), kPiece);
  client.reset();
  far.released.wait();
}

TEST_P(PiecesTest, ForContentThatFitsAtOnceMayGoOnIsNotCalled) {
  server.get("/", [&](auto&) {
    http::Response response = far.answer(0, 5);
    std::get<std::shared_ptr<http::FileSlice>>(response.content)->may_go_on = []() -> bool {
      throw Unavailable("must not be called");
    };
    return response;
  });
  server.start();
  EXPECT_EQ(server.ask("/").body, bytes_from(0, 5));
}

TEST_P(PiecesTest, AReaderThatLosesTheRightToItIsCutAtTheNextRing) {
  std::atomic<bool> allowed{true};
  std::atomic<int> called{0};
  server.get("/", [&](auto&) {
    http::Response response = far.answer(0, kEndless);
    auto& slice = *std::get<std::shared_ptr<http::FileSlice>>(response.content);
    slice.topics = {"token"};
    slice.may_go_on = [&] {
      ++called;
      return allowed.load();
    };
    return response;
  });
  server.start();
  Client client(server.port(), 4096);
  client.get("/");
  server.ring("token");
  client.read_through("\r\n\r\n");
  EXPECT_TRUE(client.read(8 << 20) == bytes_from(0, 8 << 20)) << "a ring alone cuts nothing";
  EXPECT_GE(called, 1) << "once after the first piece, whether it rang or not";
  allowed = false;
  server.ring("token");
  EXPECT_LT(client.read(kEndless).size(), kEndless - (8 << 20));
  far.released.wait();
  EXPECT_EQ(server.metrics.held_polls.Value(), 0);
}

TEST(Pieces, ManySlowReadersOccupyNoThread) {
  Gate begun;
  RemoteBytes quick;
  RemoteBytes far;
  far.reading = [&](std::uint64_t at) {
    if (at == 0) begun.open();
  };
  TestEdge server(options_with(1, 1));
  server.get("/slow", [&](auto&) { return far.answer(0, kEndless); });
  server.get("/quick", [&](auto&) { return quick.answer(0, kPiece + 1); });
  server.start();
  std::vector<Client> slow;
  for (int i = 0; i < 8; ++i) {
    slow.emplace_back(server.port(), 4096);
    slow.back().get("/slow");
    begun.wait();
  }
  EXPECT_TRUE(server.ask("/quick").body == bytes_from(0, kPiece + 1));
  // They have lost nothing by the wait.
  slow.front().read_through("\r\n\r\n");
  EXPECT_TRUE(slow.front().read(4 << 20) == bytes_from(0, 4 << 20));
}

TEST(Pieces, AReaderThatTakesNothingIsCut) {
  Options options = options_with(1, 1);
  options.timeouts.write_stall = std::chrono::milliseconds(100);
  RemoteBytes far;
  TestEdge server(options);
  server.get("/", [&](auto&) { return far.answer(0, kEndless); });
  server.start();
  Client client(server.port(), 4096);
  client.get("/");
  far.released.wait();
}

// A certificate without a trusted authority, as files.
class Certificate {
 public:
  Certificate() {
    EVP_PKEY* pair = EVP_RSA_gen(2048);
    X509* certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, pair);
    X509_sign(certificate, pair, EVP_sha256());
    write(certificate_, [&](FILE* file) { PEM_write_X509(file, certificate); });
    write(key_, [&](FILE* file) { PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_free(certificate);
    EVP_PKEY_free(pair);
  }
  ~Certificate() {
    ::close(certificate_);
    ::close(key_);
  }
  void use(Options& options) const {
    options.tls_certificate = "/proc/self/fd/" + std::to_string(certificate_);
    options.tls_key = "/proc/self/fd/" + std::to_string(key_);
  }

 private:
  static void write(int fd, const std::function<void(FILE*)>& content) {
    FILE* const file = ::fdopen(::dup(fd), "w");
    content(file);
    ::fclose(file);
  }
  const int certificate_ = ::memfd_create("certificate", MFD_CLOEXEC);
  const int key_ = ::memfd_create("key", MFD_CLOEXEC);
};

// Everything that the server sends until it closes.
std::string send_by_tls(std::uint16_t port, std::string_view request) {
  asio::io_context io;
  asio::ssl::context tls(asio::ssl::context::tls_client);
  asio::ssl::stream<tcp::socket> stream(io, tls);
  stream.next_layer().connect({asio::ip::address_v4::loopback(), port});
  stream.handshake(asio::ssl::stream_base::client);
  asio::write(stream, asio::buffer(request));
  std::string all;
  boost::system::error_code end;
  asio::read(stream, asio::dynamic_buffer(all), end);
  return all;
}

TEST(Pieces, OverTlsTheyAreTheSame) {
  const Certificate certificate;
  Options options = options_with(1, 1);
  certificate.use(options);
  RemoteBytes far;
  far.size = 2 * kPiece;
  TestEdge server(options);
  server.get("/whole", [&](auto&) { return far.answer(1, kPiece + 1); });
  server.get("/short", [&](auto&) { return far.answer(0, kPiece * 3); });
  server.start();
  const std::string two =
      "GET /whole HTTP/1.1\r\nHost: h\r\n\r\nGET /whole HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  const std::string all = send_by_tls(server.port(), two);
  const std::string bytes = bytes_from(1, kPiece + 1);
  const auto first = all.find("\r\n\r\n");
  ASSERT_NE(first, std::string::npos);
  EXPECT_TRUE(all.substr(first + 4, bytes.size()) == bytes);
  EXPECT_TRUE(all.substr(first + 4 + bytes.size()).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(all.ends_with(bytes));
  const std::string cut = send_by_tls(server.port(), "GET /short HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(cut.ends_with(bytes_from(0, 2 * kPiece)));
}

std::uint64_t bytes_read_by(pid_t thread) {
  std::ifstream counters("/proc/self/task/" + std::to_string(thread) + "/io");
  std::string name;
  std::uint64_t bytes = 0;
  counters >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

TEST(Pieces, OverTlsAFileOnDiskIsReadByTheThreadsForFileContent) {
  const Certificate certificate;
  Options options = options_with(1, 1);
  certificate.use(options);
  const Fd file(::memfd_create("file", MFD_CLOEXEC));  // open until the server has ended
  const std::string bytes = bytes_from(0, 2 * kPiece + 3);
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  RemoteBytes far;
  far.size = 1;
  std::atomic<pid_t> reader{0};
  far.reading = [&](std::uint64_t) { reader = ::gettid(); };
  TestEdge server(options);
  server.get("/far", [&](auto&) { return far.answer(0, 1); });
  server.get("/file", [&](auto&) {
    auto slice = std::make_shared<http::FileSlice>();
    slice->fd = file.get();
    slice->offset = 1;
    slice->length = bytes.size() - 1;
    http::Response response;
    response.content = std::move(slice);
    return response;
  });
  server.start();
  send_by_tls(server.port(), "GET /far HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::uint64_t before = bytes_read_by(reader);
  const std::string all = send_by_tls(server.port(), "GET /file HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(all.ends_with("\r\n\r\n" + bytes.substr(1)));
  EXPECT_GE(bytes_read_by(reader) - before, bytes.size() - 1);
}

}  // namespace
}  // namespace restante::net
