#include "net/upstream_request.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>

#include <atomic>
#include <string>

#include "net/test_other.h"

namespace restante::net {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using Outcome = http::Forwarded::Outcome;

// Far beyond what a busy machine needs; tests of the timeout itself make it small.
http::Forward order_for(std::string url, std::chrono::milliseconds timeout = 60s) {
  http::Forward order;
  order.url = std::move(url);
  order.content_type = "application/json";
  order.body = R"({"a":1})";
  order.timeout = timeout;
  order.may_connect = [](std::string_view) { return true; };
  return order;
}

http::Forwarded ask(const http::Forward& order, const LookUp& names = look_up) {
  asio::io_context context;
  http::Forwarded came;
  std::exception_ptr failure;
  asio::co_spawn(context, forward(order, names), [&](std::exception_ptr e, http::Forwarded result) {
    failure = e;
    came = std::move(result);
    context.stop();
  });
  context.run();
  if (failure) std::rethrow_exception(failure);
  return came;
}

LookUp names_as(std::vector<const char*> addresses) {
  return [addresses](const std::string&, std::chrono::steady_clock::time_point) -> asio::awaitable<Addresses> {
    Addresses answer;
    answer.outcome = Addresses::Outcome::found;
    for (const char* text : addresses) answer.found.push_back(asio::ip::make_address(text));
    co_return answer;
  };
}

TEST(Forwarder, PassesStatusTypeAndBodyOn) {
  Other other(
      answering("HTTP/1.1 418 Teapot\r\nContent-Type: text/x-tea\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\nmilk"));
  auto order = order_for(other.url());
  order.headers.emplace_back("Authorization", "Bearer secret");
  const auto came = ask(order);
  EXPECT_EQ(came.outcome, Outcome::answered);
  EXPECT_EQ(came.status, 418);
  EXPECT_EQ(came.content_type, "text/x-tea");
  EXPECT_EQ(came.body, "milk");
  EXPECT_TRUE(other.request.starts_with("POST /in HTTP/1.1\r\n")) << other.request;
  for (const char* part : {"Authorization: Bearer secret\r\n", "Content-Type: application/json\r\n",
                           "Content-Length: 7\r\n", "\r\n\r\n{\"a\":1}"}) {
    EXPECT_NE(other.request.find(part), std::string::npos) << part << " in " << other.request;
  }
}

TEST(Forwarder, AReplyThatEndsWithItsConnectionIsWhole) {
  Other other(answering("HTTP/1.0 200 OK\r\n\r\nhello"));
  EXPECT_EQ(ask(order_for(other.url())).body, "hello");
}

TEST(Forwarder, InterimAnswersAreNotTheAnswer) {
  Other other(
      answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"));
  EXPECT_EQ(ask(order_for(other.url())).status, 204);
}

TEST(Forwarder, AnEndlessSeriesOfInterimAnswersIsNoReply) {
  Other other([](Other& self, int fd) {
    self.read_request(fd);
    while (self.send_bytes(fd, "HTTP/1.1 100 Continue\r\n\r\n")) {
    }
  });
  EXPECT_EQ(ask(order_for(other.url())).outcome, Outcome::bad_reply);
}

TEST(Forwarder, AStatusThatIsNotFinalIsNoReply) {
  for (const char* status : {"101 Switching Protocols", "199 Soon", "600 What", "999 What", "000 What"}) {
    Other other(answering("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(ask(order_for(other.url())).outcome, Outcome::bad_reply) << status;
  }
  Other other(answering("HTTP/1.1 599 Hm\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(ask(order_for(other.url())).status, 599);
}

TEST(Forwarder, AReplyBeforeTheEndOfTheRequestIsTheReply) {
  Other other([](Other& self, int fd) {
    self.send_bytes(fd, "HTTP/1.1 413 Much\r\nContent-Length: 0\r\n\r\n");
    self.wait_until_closed(fd);
  });
  auto order = order_for(other.url());
  order.body = std::string(32 << 20, 'x');
  EXPECT_EQ(ask(order).status, 413);
}

TEST(Forwarder, ARedirectIsAnAnswerAndNotFollowed) {
  Other trap(answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  Other other(
      answering("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + trap.url() + "\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(ask(order_for(other.url())).status, 307);
  EXPECT_EQ(trap.connections(), 0);
}

TEST(Forwarder, ARefusedAddressIsNeverConnectedTo) {
  Other other(answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  auto order = order_for(other.url());
  std::string checked;
  order.may_connect = [&](std::string_view address) {
    checked = address;
    return false;
  };
  EXPECT_EQ(ask(order).outcome, Outcome::refused_address);
  EXPECT_EQ(checked, "127.0.0.1");
  EXPECT_EQ(other.connections(), 0);
}

TEST(Forwarder, OneRefusedAddressAmongManyRefusesAll) {
  Other other(answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  auto order = order_for(other.url("http", "mixed.example"));
  order.may_connect = [](std::string_view address) { return address != "10.0.0.1"; };
  EXPECT_EQ(ask(order, names_as({"127.0.0.1", "10.0.0.1"})).outcome, Outcome::refused_address);
  EXPECT_EQ(other.connections(), 0);
}

TEST(Forwarder, TheCheckedAddressIsTheOneThatIsUsed) {
  Other other(answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  int look_ups = 0;
  const LookUp rebinding = [&](const std::string& host,
                               std::chrono::steady_clock::time_point until) -> asio::awaitable<Addresses> {
    const LookUp names = names_as({++look_ups == 1 ? "127.0.0.1" : "192.0.2.1"});
    Addresses answer = co_await names(host, until);
    co_return answer;
  };
  auto order = order_for(other.url("http", "rebind.example"));
  order.may_connect = [](std::string_view address) { return address == "127.0.0.1"; };
  const auto came = ask(order, rebinding);
  EXPECT_EQ(came.status, 200);
  EXPECT_EQ(look_ups, 1);
  EXPECT_NE(other.request.find("Host: rebind.example:"), std::string::npos) << other.request;
}

TEST(Forwarder, ASlowNameServerIsWithinTheTimeout) {
  const LookUp silent = [](const std::string&,
                           std::chrono::steady_clock::time_point until) -> asio::awaitable<Addresses> {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_at(until);
    co_await timer.async_wait(asio::use_awaitable);
    Addresses late;
    late.outcome = Addresses::Outcome::too_slow;
    co_return late;
  };
  EXPECT_EQ(ask(order_for("http://silent.example/", 50ms), silent).outcome, Outcome::timed_out);
}

TEST(Forwarder, AnUnknownNameIsUnreachable) {
  EXPECT_EQ(ask(order_for("http://no-such-host.invalid/")).outcome, Outcome::unreachable);
}

TEST(Forwarder, AnInvalidCallbackUrlIsRefused) {
  for (const char* url : {"", "ftp://127.0.0.1/", "http://user@127.0.0.1/", "http://localhost/", "http://127.1/"}) {
    EXPECT_EQ(ask(order_for(url)).outcome, Outcome::refused_address) << url;
  }
}

TEST(Forwarder, AClosedPortIsUnreachable) {
  std::string url;
  {
    Other closed(answering(""));
    url = closed.url();
  }
  EXPECT_EQ(ask(order_for(url)).outcome, Outcome::unreachable);
}

TEST(Forwarder, AServerThatNeverReadsTimesOut) {
  Other other([](Other& self, int fd) { self.wait_until_closed(fd); });
  auto order = order_for(other.url(), 200ms);
  Other unresponsive([](Other& self, int) { self.wait_until_over(); });
  auto big = order_for(unresponsive.url(), 200ms);
  big.body = std::string(32 << 20, 'x');
  EXPECT_EQ(ask(order).outcome, Outcome::timed_out);
  EXPECT_EQ(ask(big).outcome, Outcome::timed_out);
}

TEST(Forwarder, AServerThatSendsTooSlowlyTimesOut) {
  Other other([](Other& self, int fd) {
    self.read_request(fd);
    self.send_bytes(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    pollfd entry{fd, POLLRDHUP, 0};
    while (::poll(&entry, 1, 10) == 0 && self.send_bytes(fd, "x")) {
    }
  });
  auto order = order_for(other.url(), 200ms);
  order.reply_cap = 200'000'000;
  EXPECT_EQ(ask(order).outcome, Outcome::timed_out);
}

TEST(Forwarder, AReplyBeyondTheCapIsTooLarge) {
  const std::string megabyte(1 << 20, 'x');
  Other sized(answering("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n" + megabyte + "x"));
  EXPECT_EQ(ask(order_for(sized.url())).outcome, Outcome::too_large);
  Other exact(answering("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + megabyte));
  EXPECT_EQ(ask(order_for(exact.url())).body, megabyte);
  Other endless([](Other& self, int fd) {
    self.read_request(fd);
    self.send_bytes(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (self.send_bytes(fd, "400\r\n" + std::string(1024, 'x') + "\r\n")) {
    }
  });
  EXPECT_EQ(ask(order_for(endless.url())).outcome, Outcome::too_large);
}

TEST(Forwarder, AnAnswerThatIsNotHttpIsNoReply) {
  const std::string megabyte(1 << 20, 'x');
  for (const std::string& reply :
       {std::string(), std::string("garbage\r\n\r\n"), std::string("HTTP/1.1 200"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        "HTTP/1.1 200 OK\r\nX-Big: " + megabyte + "\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: " + megabyte + "\r\n\r\n"}) {
    Other other(answering(reply));
    EXPECT_EQ(ask(order_for(other.url())).outcome, Outcome::bad_reply) << reply.substr(0, 60);
  }
}

TEST(Forwarder, AServerThatIsNotTlsOrNotTrustedIsUnreachable) {
  Other plain([](Other& self, int fd) {
    self.send_bytes(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    self.wait_until_closed(fd);
  });
  EXPECT_EQ(ask(order_for(plain.url("https"))).outcome, Outcome::unreachable);

  // Self-signed.
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX* tls = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(tls, certificate);
  SSL_CTX_use_PrivateKey(tls, key);
  std::atomic<bool> shaken{false};
  {
    Other secure([&](Other&, int fd) {
      SSL* ssl = SSL_new(tls);
      SSL_set_fd(ssl, fd);
      shaken = SSL_accept(ssl) == 1;
      SSL_free(ssl);
    });
    EXPECT_EQ(ask(order_for(secure.url("https"))).outcome, Outcome::unreachable);
    EXPECT_EQ(secure.connections(), 1);
  }
  EXPECT_FALSE(shaken);
  SSL_CTX_free(tls);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

TEST(Forwarder, TheTlsServerNameIsSentForAHostNameAndNotForAnAddress) {
  const auto hello = [](std::string_view host) {
    std::string received;
    {
      Other other([&](Other&, int fd) {
        char piece[4096];
        const auto n = ::recv(fd, piece, sizeof piece, 0);
        received.assign(piece, n > 0 ? static_cast<std::size_t>(n) : 0);
      });
      EXPECT_EQ(ask(order_for(other.url("https", host)), names_as({"127.0.0.1"})).outcome, Outcome::unreachable);
    }
    return received;
  };
  EXPECT_NE(hello("agent.example").find("agent.example"), std::string::npos);
  const std::string to_address = hello("127.0.0.1");
  EXPECT_FALSE(to_address.empty());
  EXPECT_EQ(to_address.find("127.0.0.1"), std::string::npos);
}

// The result of open() with the look-up `names`.
http::Forwarded opened(const http::Forward& order, std::chrono::milliseconds until,
                       const std::function<LookUp(asio::io_context&, UpstreamRequest&)>& names) {
  asio::io_context context;
  const auto upstream = std::make_shared<UpstreamRequest>(context.get_executor(), order, UpstreamRequest::Pace());
  upstream->allow_until(std::chrono::steady_clock::now() + until);
  const LookUp finder = names(context, *upstream);
  http::Forwarded came;
  asio::co_spawn(context, upstream->open(finder), [&](const std::exception_ptr& e, bool open) {
    EXPECT_FALSE(e || open);
    came = upstream->take_result();
    upstream->close();
  });
  context.run();
  return came;
}

TEST(UpstreamRequest, ARequestThatIsClosedDuringTheLookUpConnectsToNothing) {
  Other other([](Other&, int) {});
  const auto order = order_for(other.url("http", "agent.example"));
  const LookUp found = names_as({"127.0.0.1"});
  const auto came = opened(order, 60s, [&found](asio::io_context&, UpstreamRequest& upstream) -> LookUp {
    return [&](const std::string& host, std::chrono::steady_clock::time_point until) {
      upstream.close();
      return found(host, until);
    };
  });
  EXPECT_EQ(came.outcome, Outcome::cut);
  EXPECT_EQ(other.connections(), 0);
}

TEST(UpstreamRequest, ANameThatIsFoundTooLateIsNotUsed) {
  Other other([](Other&, int) {});
  const auto order = order_for(other.url("http", "agent.example"));
  const auto came = opened(order, 1ms, [](asio::io_context& context, UpstreamRequest&) -> LookUp {
    return [&context](const std::string&, std::chrono::steady_clock::time_point until) -> asio::awaitable<Addresses> {
      asio::steady_timer later(context, until + 50ms);
      co_await later.async_wait(asio::use_awaitable);
      Addresses answer;
      answer.outcome = Addresses::Outcome::found;
      answer.found.push_back(asio::ip::make_address("127.0.0.1"));
      co_return answer;
    };
  });
  EXPECT_EQ(came.outcome, Outcome::timed_out);
  EXPECT_EQ(other.connections(), 0);
}

TEST(LookUp, AnAddressIsItsOwnResult) {
  const auto four = look_up_now("192.0.2.7", 1ms);
  ASSERT_EQ(four.outcome, Addresses::Outcome::found);
  EXPECT_EQ(four.found.front().to_string(), "192.0.2.7");
  EXPECT_EQ(look_up_now("2001:db8::7", 1ms).found.front().to_string(), "2001:db8::7");
}

TEST(LookUp, TheSystemsNamesAreFoundAndUnknownOnesAreNot) {
  const auto local = look_up_now("localhost", 60s);
  ASSERT_EQ(local.outcome, Addresses::Outcome::found);
  EXPECT_TRUE(local.found.front().is_loopback());
  EXPECT_EQ(look_up_now("no-such-host.invalid", 60s).outcome, Addresses::Outcome::unknown_name);
}

TEST(LookUp, EndsWhenTheTimeIsUp) {
  EXPECT_NE(look_up_now("no-such-host.invalid", 0ms).outcome, Addresses::Outcome::found);
}

}  // namespace
}  // namespace restante::net
