#include "client/http_client.h"

#include <gtest/gtest.h>

#include <future>

#include "client/test_server.h"

namespace restante::client {
namespace {

using Kind = Failure::Kind;

Request get(std::string target = "/x") {
  Request request;
  request.target = std::move(target);
  request.patience = std::chrono::seconds(30);
  return request;
}

Request post(std::string body) {
  auto request = get();
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

struct Pair {
  explicit Pair(std::vector<TestServer::Script> scripts)
      : server(std::move(scripts)), client(parse_url(server.url()).value()) {}
  TestServer server;
  HttpClient client;  // destroyed first, so that no script waits for it
};

Kind kind_of(const Outcome<Response>& outcome) {
  EXPECT_TRUE(outcome.has_error());
  return outcome.has_error() ? outcome.error().kind : Kind::stopped;
}

TEST(HttpClient, GivesStatusHeadersAndBody) {
  std::string seen;
  Pair pair({[&](TestConnection& peer) {
    seen = peer.read_request();
    peer.answer("404 Not Found", "no", "X-One: 1\r\n");
  }});
  auto request = get("/a/b?c=d");
  request.headers.push_back({"Authorization", "Bearer t"});
  const auto response = pair.client.send(request).value();
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "no");
  ASSERT_TRUE(response.find("x-one"));
  EXPECT_EQ(*response.find("x-one"), "1");
  EXPECT_TRUE(seen.starts_with("GET /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1:")) << seen;
  EXPECT_NE(seen.find("\r\nAuthorization: Bearer t\r\n"), std::string::npos);
}

TEST(HttpClient, TheServersOwnPathGoesBeforeTheTarget) {
  std::string seen;
  TestServer server({[&](TestConnection& peer) { seen = peer.read_request(), peer.answer("200 OK", ""); }});
  HttpClient client(parse_url(server.url() + "/base/").value());
  ASSERT_TRUE(client.send(get("/x")).has_value());
  EXPECT_TRUE(seen.starts_with("GET /base/x HTTP/1.1")) << seen;
}

TEST(HttpClient, OneConnectionServesSeveralRequests) {
  Pair pair({[](TestConnection& peer) {
    while (!peer.read_request().empty()) peer.answer("200 OK", "ok");
  }});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pair.client.send(post("b")).value().body, "ok");
  EXPECT_EQ(pair.server.connections(), 1u);
}

TEST(HttpClient, AConnectionThatIsToBeClosedIsNotUsedAgain) {
  const TestServer::Script once = [](TestConnection& peer) {
    peer.read_request(), peer.answer("200 OK", "ok", "Connection: close\r\n");
  };
  Pair pair({once, once});
  EXPECT_TRUE(pair.client.send(post("a")).has_value());
  EXPECT_TRUE(pair.client.send(post("b")).has_value());
}

// Answers the first request and ends the connection after it has read the second.
void die_on_second(TestConnection& peer) {
  peer.read_request();
  peer.answer("200 OK", "first");
  peer.read_request();
  peer.reset_on_close();
}

TEST(HttpClient, AnIdempotentRequestIsSentAgainWhenTheKeptConnectionIsClosed) {
  Pair pair({die_on_second, [](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", "second"); }});
  ASSERT_TRUE(pair.client.send(get()).has_value());
  EXPECT_EQ(pair.client.send(get()).value().body, "second");
}

TEST(HttpClient, APostIsNotSentAgainUnlessItIsRepeatable) {
  Pair pair({die_on_second});
  ASSERT_TRUE(pair.client.send(get()).has_value());
  EXPECT_EQ(kind_of(pair.client.send(post("x"))), Kind::cut);

  Pair other({die_on_second, [](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", "second"); }});
  ASSERT_TRUE(other.client.send(get()).has_value());
  auto repeatable = post("x");
  repeatable.repeatable = true;
  EXPECT_EQ(other.client.send(repeatable).value().body, "second");
}

TEST(HttpClient, ANewConnectionThatIsClosedIsNotTriedAgain) {
  Pair pair({[](TestConnection& peer) { peer.read_request(); }});
  EXPECT_EQ(kind_of(pair.client.send(get())), Kind::cut);
  EXPECT_EQ(pair.server.connections(), 1u);
}

TEST(HttpClient, AnIdleConnectionThatWasClosedIsDetectedBeforeAPostIsSent) {
  std::promise<void> closed;
  Pair pair({[](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", "first"); },
             [&](TestConnection& peer) {
               closed.set_value();
               peer.read_request(), peer.answer("200 OK", "second");
             }});
  ASSERT_TRUE(pair.client.send(get()).has_value());
  // The second script begins only once the first connection is closed; another client's connection reaches it.
  std::thread other_client([&] { HttpClient(parse_url(pair.server.url()).value()).send(get()).value(); });
  closed.get_future().wait();
  other_client.join();
  EXPECT_EQ(kind_of(pair.client.send([] {
              auto request = post("x");
              request.patience = std::chrono::milliseconds(1);
              return request;
            }())),
            Kind::timeout)
      << "a new connection was made, which no script serves; the dead one would have given `cut`";
}

TEST(HttpClient, ReadsChunkedBodiesInPiecesOfAnySize) {
  Pair pair({[](TestConnection& peer) {
    peer.read_request();
    for (const char c : std::string(
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n")) {
      peer.send(std::string_view(&c, 1));
    }
    peer.read_request();
    peer.answer("200 OK", "next");
  }});
  EXPECT_EQ(pair.client.send(get()).value().body, "hello world");
  EXPECT_EQ(pair.client.send(get()).value().body, "next");
}

TEST(HttpClient, ABodyWithoutALengthEndsWithItsConnection) {
  Pair pair({[](TestConnection& peer) { peer.read_request(), peer.send("HTTP/1.1 200 OK\r\n\r\nall of it"); }});
  EXPECT_EQ(pair.client.send(get()).value().body, "all of it");
}

TEST(HttpClient, AnInformationalAnswerIsNotTheAnswer) {
  Pair pair({[](TestConnection& peer) {
    peer.read_request(), peer.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), peer.answer("200 OK", "ok");
  }});
  EXPECT_EQ(pair.client.send(get()).value().body, "ok");
}

TEST(HttpClient, AnAnswerToHeadHasNoBodyWhateverItsLength) {
  Pair pair({[](TestConnection& peer) {
    peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    peer.read_request(), peer.answer("200 OK", "next");
  }});
  auto head = get();
  head.method = "HEAD";
  EXPECT_EQ(pair.client.send(head).value().body, "");
  EXPECT_EQ(pair.client.send(get()).value().body, "next");
}

TEST(HttpClient, TheSinkOfACutDownloadHasACorrectPrefix) {
  Pair pair({[](TestConnection& peer) {
    peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  }});
  std::string got;
  const auto outcome = pair.client.download(get(), [&](const Response& head, std::string_view bytes) {
    EXPECT_EQ(head.status, 200);
    got += bytes;
    return true;
  });
  EXPECT_EQ(kind_of(outcome), Kind::cut);
  EXPECT_EQ(got, "only this");
}

TEST(HttpClient, ADownloadIsNotKeptInMemoryAndAnErrorIsNotGivenToTheSink) {
  const std::string big(3'000'000, 'x');
  Pair pair({[&](TestConnection& peer) {
    peer.read_request(), peer.answer("200 OK", big);
    peer.read_request(), peer.answer("404 Not Found", R"({"error":"gone","code":"upload_gone"})");
  }});
  std::size_t bytes = 0;
  const auto count = [&](const Response&, std::string_view piece) {
    return bytes += piece.size(), piece.size() <= 65536;
  };
  const auto response = pair.client.download(get(), count).value();
  EXPECT_EQ(bytes, big.size());
  EXPECT_EQ(response.body, "");
  const auto refused = expect_success(pair.client.download(get(), count));
  ASSERT_EQ(kind_of(refused), Kind::status);
  EXPECT_EQ(refused.error().status, 404);
  EXPECT_EQ(refused.error().code, "upload_gone");
  EXPECT_EQ(bytes, big.size());
}

TEST(HttpClient, ASinkCanStopADownload) {
  Pair pair({[](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", std::string(1'000'000, 'x')); }});
  EXPECT_EQ(kind_of(pair.client.download(get(), [](const Response&, std::string_view) { return false; })),
            Kind::stopped);
}

TEST(HttpClient, AnAnswerBeyondTheCapIsRefused) {
  Pair pair({[](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", std::string(1001, 'x')); }});
  auto request = get();
  request.max_body = 1000;
  EXPECT_EQ(kind_of(pair.client.send(request)), Kind::too_large);
}

TEST(HttpClient, ASilentServerIsATimeout) {
  Pair pair({[](TestConnection& peer) { peer.wait_until_closed(); }});
  auto request = get();
  request.patience = std::chrono::milliseconds(20);
  EXPECT_EQ(kind_of(pair.client.send(request)), Kind::timeout);
}

TEST(HttpClient, AServerThatSendsSlowlyForEverMeetsTheTotal) {
  Pair pair({[](TestConnection& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    pollfd entry{peer.descriptor(), POLLIN, 0};
    while (poll(&entry, 1, 5) == 0) peer.send("1\r\nx\r\n");
  }});
  auto request = get();
  request.total = std::chrono::milliseconds(100);
  EXPECT_EQ(kind_of(pair.client.send(request)), Kind::timeout);
}

TEST(HttpClient, CancelEndsABlockedCallAndEveryLaterOne) {
  std::promise<void> received;
  Pair pair({[&](TestConnection& peer) {
    peer.read_request();
    received.set_value();
    peer.wait_until_closed();
  }});
  std::thread canceller([&] {
    received.get_future().wait();
    pair.client.cancel();
  });
  EXPECT_EQ(kind_of(pair.client.send(get())), Kind::cancelled);
  canceller.join();
  EXPECT_EQ(kind_of(pair.client.send(get())), Kind::cancelled);
}

TEST(HttpClient, HangingUpEndsACallAsCutAndTheNextOneConnectsAgain) {
  std::promise<void> received;
  Pair pair({[&](TestConnection& peer) {
               peer.read_request();
               received.set_value();
               peer.wait_until_closed();
             },
             [](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", "again"); }});
  std::thread other([&] {
    received.get_future().wait();
    pair.client.hang_up();
  });
  EXPECT_EQ(kind_of(pair.client.send(get())), Kind::cut);
  other.join();
  EXPECT_EQ(pair.client.send(get()).value().body, "again");
  EXPECT_EQ(pair.server.connections(), 2u);
}

TEST(HttpClient, AnAnswerThatIsNotHttpIsAProtocolFailure) {
  for (const std::string& bytes :
       {std::string("SSH-2.0-OpenSSH\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n5\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n",
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    Pair pair({[&](TestConnection& peer) {
      peer.read_request();
      peer.send(bytes);
      peer.wait_until_closed();
    }});
    EXPECT_EQ(kind_of(pair.client.send(get())), Kind::protocol) << bytes.substr(0, 80);
  }
}

TEST(HttpClient, ANameOrPortThatDoesNotExistIsUnreachable) {
  std::uint16_t port = 0;
  {
    TestServer closed({});
    port = closed.port();
  }
  HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(port)).value());
  const auto outcome = client.send(get());
  ASSERT_EQ(kind_of(outcome), Kind::unreachable);
  EXPECT_NE(outcome.error().sentence.find("cannot connect to 127.0.0.1:"), std::string::npos)
      << outcome.error().sentence;
  HttpClient nowhere(parse_url("http://nowhere.invalid").value());
  EXPECT_EQ(kind_of(nowhere.send(get())), Kind::unreachable);
}

TEST(HttpClient, ASourceIsSentWithItsLengthOrChunked) {
  std::string sized, chunked;
  Pair pair({[&](TestConnection& peer) {
    sized = peer.read_request(), peer.answer("200 OK", "");
    chunked = peer.read_request(), peer.answer("200 OK", "");
  }});
  auto request = post("");
  int pieces = 0;
  request.source = [&](std::span<char> into) -> std::optional<std::size_t> {
    if (pieces == 3) return 0;
    std::copy_n("abc", 3, into.data());
    return ++pieces, 3;
  };
  request.source_length = 9;
  ASSERT_TRUE(pair.client.send(request).has_value());
  EXPECT_TRUE(sized.ends_with("Content-Length: 9\r\n\r\nabcabcabc")) << sized;
  pieces = 0;
  request.source_length.reset();
  ASSERT_TRUE(pair.client.send(request).has_value());
  EXPECT_TRUE(chunked.ends_with("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n"))
      << chunked;
}

TEST(HttpClient, ARefusalInTheMiddleOfAnUploadIsReturned) {
  Pair pair({[](TestConnection& peer) {
    char byte = 0;
    (void)recv(peer.descriptor(), &byte, 1, 0);
    peer.answer("413 Payload Too Large", "", "Connection: close\r\n");
    shutdown(peer.descriptor(), SHUT_WR);
    peer.wait_until_closed();
  }});
  auto request = post("");
  std::size_t left = 3'000'000;
  request.source_length = left;
  request.source = [&](std::span<char> into) -> std::optional<std::size_t> {
    const auto bytes = std::min(into.size(), left);
    std::fill_n(into.data(), bytes, 'x');
    return left -= bytes, bytes;
  };
  EXPECT_EQ(pair.client.send(request).value().status, 413);
}

TEST(HttpClient, AHeaderThatWouldSplitTheRequestIsNotSent) {
  Pair pair({});
  auto request = get();
  request.headers.push_back({"X", "a\r\nHost: evil"});
  EXPECT_EQ(kind_of(pair.client.send(request)), Kind::protocol);
  EXPECT_EQ(kind_of(pair.client.send(get("/a b"))), Kind::protocol);
}

TEST(HttpClient, AProxyGetsTheWholeAddress) {
  std::string seen;
  TestServer proxy({[&](TestConnection& peer) { seen = peer.read_request(), peer.answer("200 OK", "through"); }});
  HttpOptions options;
  options.environment = [&](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "http_proxy"
               ? std::optional("http://me:secret@127.0.0.1:" + std::to_string(proxy.port()))
               : std::nullopt;
  };
  HttpClient client(parse_url("http://far.example/base").value(), options);
  EXPECT_EQ(client.send(get("/x")).value().body, "through");
  EXPECT_TRUE(seen.starts_with("GET http://far.example/base/x HTTP/1.1\r\nHost: far.example\r\n")) << seen;
  EXPECT_NE(seen.find("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"), std::string::npos) << seen;
}

TEST(Failure, RetryAfterAndRedirectsAreInTheSentence) {
  Response busy;
  busy.status = 503;
  busy.headers = {{"Retry-After", "7"}};
  const auto failure = expect_success(busy).error();
  EXPECT_EQ(failure.retry_after, std::chrono::seconds(7));
  EXPECT_TRUE(failure.passes());
  Response moved;
  moved.status = 308;
  EXPECT_NE(expect_success(moved).error().sentence.find("redirect"), std::string::npos);
  EXPECT_FALSE(expect_success(moved).error().passes());
  Response unknown;
  unknown.status = 501;
  EXPECT_FALSE(expect_success(unknown).error().passes()) << "a server that does not know how";
}

}  // namespace
}  // namespace restante::client
