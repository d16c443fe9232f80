#include "store/s3/service.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/test_clock.h"
#include "client/test_server.h"

namespace restante::s3 {
namespace {

using client::Failure;
using client::TestConnection;
using client::TestServer;
using ::testing::HasSubstr;
using ::testing::Not;

client::Environment nothing_around() {
  return [](const char*) { return std::nullopt; };
}

// A scripted server and a service that sends requests to it; the service is destroyed first.
struct Pair {
  explicit Pair(std::vector<TestServer::Script> scripts, std::string path = "") : server(std::move(scripts)) {
    options.endpoint = client::parse_url(server.url() + path).value();
    options.bucket = "post";
    options.region = "eu-west-1";
    options.patience = std::chrono::seconds(60);
    options.first_pause = std::chrono::milliseconds(1);
    options.longest_pause = std::chrono::milliseconds(10);
    options.http.environment = nothing_around();
    settings.access_key = "AK";
    settings.secret_key = "very-secret";
  }
  Service& service() {
    if (!service_) {
      source_.emplace(settings, nothing_around());
      service_.emplace(options, *source_, clock);
    }
    return *service_;
  }

  TestServer server;
  ServiceOptions options;
  CredentialSettings settings;
  ManualClock clock{parse_time("2026-11-15T12:00:00Z").value()};

 private:
  std::optional<CredentialSource> source_;
  std::optional<Service> service_;
};

S3Request get(std::string key) {
  S3Request call;
  call.key = std::move(key);
  return call;
}

TEST(Service, ARequestHasItsSignatureItsTimeAndItsDigestAndNeverTheSecret) {
  std::string seen;
  Pair pair({[&](TestConnection& peer) { seen = peer.read_request(), peer.answer("200 OK", ""); }});
  pair.settings.session_token = "for-a-while";
  S3Request call;
  call.method = "PUT";
  call.key = "a b/c";
  call.query = {{"uploadId", "x+y"}, {"partNumber", "1"}};
  call.payload = payload_of("Welcome to Amazon S3.");
  ASSERT_TRUE(pair.service().send(call).has_value());
  EXPECT_TRUE(seen.starts_with("PUT /post/a%20b/c?partNumber=1&uploadId=x%2By HTTP/1.1\r\n")) << seen;
  EXPECT_THAT(seen, HasSubstr("x-amz-date: 20261115T120000Z\r\n"));
  EXPECT_THAT(seen,
              HasSubstr("x-amz-content-sha256: 44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n"));
  EXPECT_THAT(seen, HasSubstr("x-amz-security-token: for-a-while\r\n"));
  EXPECT_THAT(seen, HasSubstr("Credential=AK/20261115/eu-west-1/s3/aws4_request, "
                              "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "));
  EXPECT_THAT(seen, HasSubstr("Content-Length: 21\r\n"));
  EXPECT_TRUE(seen.ends_with("\r\n\r\nWelcome to Amazon S3.")) << seen;
  EXPECT_THAT(seen, Not(HasSubstr("very-secret")));
}

TEST(Service, AnEndpointMayHaveAPath) {
  std::string seen;
  Pair pair({[&](TestConnection& peer) { seen = peer.read_request(), peer.answer("200 OK", ""); }},
            "/storage%2Bv1/s3/");
  ASSERT_TRUE(pair.service().send(get("k")).has_value());
  EXPECT_TRUE(seen.starts_with("GET /storage%2Bv1/s3/post/k HTTP/1.1\r\n")) << seen;
}

TEST(Service, ABucketInTheHostIsNotInThePath) {
  std::vector<std::string> seen;
  const TestServer::Script script = [&](TestConnection& peer) {
    for (std::string request; !(request = peer.read_request()).empty();) {
      seen.push_back(request);
      peer.answer("200 OK", "");
    }
  };
  Pair pair({script});
  const auto proxy = pair.server.url();
  pair.options.endpoint = client::parse_url("http://s3.example.test:8080").value();
  pair.options.addressing = Addressing::virtual_host;
  pair.options.http.environment = [&](const char* name) -> std::optional<std::string> {
    return name == std::string_view("http_proxy") ? std::optional(proxy) : std::nullopt;
  };
  ASSERT_TRUE(pair.service().send(get("k")).has_value());
  ASSERT_TRUE(pair.service().send(get("")).has_value());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen[0].starts_with("GET http://post.s3.example.test:8080/k HTTP/1.1\r\n")) << seen[0];
  EXPECT_THAT(seen[0], HasSubstr("Host: post.s3.example.test:8080\r\n"));
  EXPECT_TRUE(seen[1].starts_with("GET http://post.s3.example.test:8080/ HTTP/1.1\r\n")) << seen[1];
}

TEST(Service, OneConnectionServesOneRequestAfterTheOther) {
  Pair pair({[](TestConnection& peer) {
    while (!peer.read_request().empty()) peer.answer("200 OK", "");
  }});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pair.service().send(get("k")).has_value());
  EXPECT_EQ(pair.server.connections(), 1u);
}

// Requests are signed with keys from a file, which are rotated meanwhile. A request with the old keys gets this answer.
void expect_rotated(const std::string& status, const std::string& body) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "s3_service_rotated";
  const auto write = [&](const char* key) {
    std::ofstream(file) << "[default]\naws_access_key_id=" << key << "\naws_secret_access_key=s\n";
  };
  write("OLD");
  std::vector<std::string> seen;
  Pair pair({[&](TestConnection& peer) {
    for (std::string request; !(request = peer.read_request()).empty();) {
      const bool old = request.find("Credential=OLD/") != std::string::npos;
      seen.push_back(old ? "OLD" : "NEW");
      write("NEW");
      old ? peer.answer(status, body) : peer.answer("200 OK", "");
    }
  }});
  pair.settings = {};
  pair.settings.file = file.string();
  EXPECT_TRUE(pair.service().send(get("k")).has_value());
  EXPECT_THAT(seen, ::testing::ElementsAre("OLD", "NEW")) << status << " " << body;
  std::filesystem::remove(file);
}

TEST(Service, KeysThatWereRotatedAreReadAgainOnceTheOldOnesAreRefused) {
  expect_rotated("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>");
  expect_rotated("400 Bad Request", "<Error><Code>InvalidToken</Code></Error>");
  expect_rotated("403 Forbidden", "<Error><Code>InvalidAccessKeyId</Code></Error>");
  expect_rotated("403 Forbidden", "<Error><Code>SignatureDoesNotMatch</Code></Error>");
  expect_rotated("403 Forbidden", "");  // as to a HEAD
}

TEST(Service, KeysThatStayRefusedAreSentOnce) {
  std::atomic<int> asked = 0;  // counted by the server's thread
  Pair pair({[&](TestConnection& peer) {
    for (; !peer.read_request().empty(); peer.answer("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>"))
      ++asked;
  }});
  const auto outcome = pair.service().send(get("k"));
  ASSERT_TRUE(outcome.has_error());
  EXPECT_THAT(outcome.error().sentence, HasSubstr("expired"));
  EXPECT_EQ(asked, 1);
}

TEST(Service, APageOfAnotherServerIsNotAnAnswerOfS3) {
  std::atomic<int> asked = 0;  // counted by the server's thread
  Pair pair({[&](TestConnection& peer) {
    for (; !peer.read_request().empty(); peer.answer("404 Not Found", "<html><h1>Not Found</h1></html>")) ++asked;
  }});
  const auto outcome = pair.service().send(get(""));
  ASSERT_TRUE(outcome.has_error());
  EXPECT_EQ(outcome.error().kind, Failure::Kind::protocol);
  EXPECT_THAT(outcome.error().sentence, HasSubstr(pair.server.url() + " does not answer as S3 does: 404"));
  EXPECT_EQ(asked, 1);
}

TEST(Service, WithoutCredentialsNothingIsSent) {
  Pair pair({});
  pair.settings = {};
  const auto outcome = pair.service().send(get("k"));
  ASSERT_TRUE(outcome.has_error());
  EXPECT_THAT(outcome.error().sentence, HasSubstr("no S3 credentials"));
  EXPECT_EQ(pair.server.connections(), 0u);
}

TEST(Service, ARequestWithAnUnexpectedAnswerIsRepeated) {
  std::atomic<int> asked = 0;  // counted by the server's thread
  Pair pair({[&](TestConnection& peer) {
    while (!peer.read_request().empty()) peer.answer("200 OK", ++asked < 3 ? "<html/>" : "right");
  }});
  auto call = get("k");
  call.is_expected = [](const client::Response& response) { return response.body == "right"; };
  EXPECT_TRUE(pair.service().send(call).has_value());
  EXPECT_EQ(asked, 3);
}

TEST(Service, ARequestToASilentServerIsRepeatedOnANewConnection) {
  // On a slow machine more than one attempt may time out, so every later connection is answered.
  std::vector<TestServer::Script> scripts(64, [](TestConnection& peer) {
    if (!peer.read_request().empty()) peer.answer("200 OK", "", "Connection: close\r\n");
  });
  scripts[0] = [](TestConnection& peer) { peer.wait_until_closed(); };
  Pair pair(std::move(scripts));
  pair.options.patience = std::chrono::milliseconds(200);
  pair.options.attempts = 64;
  EXPECT_TRUE(pair.service().send(get("k")).has_value());
  EXPECT_GE(pair.server.connections(), 2u);
}

TEST(Service, ASourceThatCannotBeReadEndsTheRequestForGood) {
  Pair pair({[](TestConnection& peer) { peer.wait_until_closed(); }});
  S3Request call;
  call.method = "PUT";
  call.key = "k";
  call.payload = Payload{10, {}, [](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(); }};
  const auto outcome = pair.service().send(call);
  ASSERT_TRUE(outcome.has_error());
  EXPECT_EQ(outcome.error().kind, Failure::Kind::stopped);
}

TEST(Service, CancelEndsARunningCallAPauseAndEveryLaterCall) {
  std::promise<void> asked;
  Pair pair({[&](TestConnection& peer) {
    peer.read_request();
    asked.set_value();
    peer.wait_until_closed();
  }});
  auto& service = pair.service();
  std::jthread canceller([&] {
    asked.get_future().wait();
    service.cancel();
  });
  const auto outcome = service.send(get("k"));
  ASSERT_TRUE(outcome.has_error());
  EXPECT_EQ(outcome.error().kind, Failure::Kind::cancelled);
  EXPECT_TRUE(service.send(get("k")).has_error());

  std::promise<void> refused;
  Pair busy({[&](TestConnection& peer) {
    peer.read_request();
    peer.answer("503 Slow Down", "");
    refused.set_value();
    peer.wait_until_closed();
  }});
  busy.options.first_pause = busy.options.longest_pause = std::chrono::hours(1);
  auto& waiting = busy.service();
  std::jthread other([&] {
    refused.get_future().wait();
    waiting.cancel();
  });
  EXPECT_TRUE(waiting.send(get("k")).has_error());
}

}  // namespace
}  // namespace restante::s3
