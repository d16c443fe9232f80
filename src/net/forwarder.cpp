#include "net/forwarder.h"

#include <optional>

#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "http/callback_url.h"
#include "net/lookup.h"

namespace restante::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
using Outcome = http::Forwarded::Outcome;
using Deadline = std::chrono::steady_clock::time_point;

constexpr std::size_t kReplyHead = 16 << 10;
// Beast throws on a field of 64 KiB when its buffer could hold one.
constexpr std::size_t kReplyBuffer = 32 << 10;
constexpr int kMostInterim = 4;  // 100 Continue and its kin before the answer

Outcome failure(const boost::system::error_code& ec, Outcome otherwise) {
  return ec == beast::error::timeout ? Outcome::timed_out : otherwise;
}

// Reading the authorities takes tens of milliseconds, so it is done once.
asio::ssl::context& trust() {
  static asio::ssl::context context = [] {
    asio::ssl::context made(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(made.native_handle(), TLS1_2_VERSION);
    made.set_verify_mode(asio::ssl::verify_peer);
    boost::system::error_code ignored;
    made.set_default_verify_paths(ignored);
    return made;
  }();
  return context;
}

using Request = beast::http::request<beast::http::string_body>;
using Parser = beast::http::response_parser<beast::http::string_body>;

Request make_request(const http::Forward& order, const http::CallbackUrl& url) {
  Request request(beast::http::verb::post, url.target(), 11);
  request.set(beast::http::field::host, url.authority());
  request.set(beast::http::field::content_type, order.content_type);
  request.set(beast::http::field::connection, "close");
  for (const auto& [name, value] : order.headers) request.set(name, value);
  request.body() = order.body;
  request.prepare_payload();
  return request;
}

bool is_interim(const Parser& parser) {
  const unsigned status = parser.get().result_int();
  return status >= 100 && status < 200 && status != 101;
}

// Sends and receives on a connected stream, plain or TLS.
template <class Stream>
asio::awaitable<void> exchange(Stream& stream, const http::Forward& order, const http::CallbackUrl& url,
                               http::Forwarded& result) {
  const Request request = make_request(order, url);
  boost::system::error_code ec;
  co_await beast::http::async_write(stream, request, asio::redirect_error(asio::use_awaitable, ec));
  // A server that refuses early closes while we still send: its answer may be there all the same.
  if (ec && failure(ec, Outcome::bad_reply) == Outcome::timed_out) {
    result.outcome = Outcome::timed_out;
    co_return;
  }
  beast::flat_buffer buffer(kReplyBuffer);
  std::optional<Parser> parser;
  for (int interim = 0; !parser || (is_interim(*parser) && interim <= kMostInterim); ++interim) {
    parser.emplace();
    parser->header_limit(kReplyHead);
    parser->body_limit(order.reply_cap);
    co_await beast::http::async_read(stream, buffer, *parser, asio::redirect_error(asio::use_awaitable, ec));
    if (ec) break;
  }
  if (ec == beast::http::error::body_limit) {
    result.outcome = Outcome::too_large;
  } else if (ec || is_interim(*parser)) {
    result.outcome = failure(ec, Outcome::bad_reply);
  } else {
    result.outcome = Outcome::answered;
    result.status = static_cast<int>(parser->get().result_int());
    result.content_type = std::string(parser->get()[beast::http::field::content_type]);
    result.body = std::move(parser->get().body());
  }
}

asio::awaitable<void> exchange_securely(beast::tcp_stream& stream, const http::Forward& order,
                                        const http::CallbackUrl& url, http::Forwarded& result) {
  beast::ssl_stream<beast::tcp_stream> secure(std::move(stream), trust());
  secure.set_verify_callback(asio::ssl::host_name_verification(url.host));
  if (!url.literal) SSL_set_tlsext_host_name(secure.native_handle(), url.host.c_str());
  boost::system::error_code ec;
  co_await secure.async_handshake(asio::ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    result.outcome = failure(ec, Outcome::unreachable);
    co_return;
  }
  co_await exchange(secure, order, url, result);
}

// Every address the host has, checked; empty, with the outcome set, when there is none or one is refused.
asio::awaitable<std::vector<tcp::endpoint>> checked_endpoints(const http::Forward& order, const LookUp& names,
                                                              const http::CallbackUrl& url, Deadline until,
                                                              http::Forwarded& result) {
  std::vector<tcp::endpoint> endpoints;
  const Addresses addresses = co_await names(url.host, until);
  if (addresses.outcome != Addresses::Outcome::found) {
    const bool slow = addresses.outcome == Addresses::Outcome::too_slow;
    result.outcome = slow ? Outcome::timed_out : Outcome::unreachable;
    co_return endpoints;
  }
  // One private address among public ones is enough to refuse: whoever controls the name picks which one is used.
  for (const asio::ip::address& address : addresses.found) {
    const std::string text = address.to_string();
    if (order.may_connect && !order.may_connect(text)) {
      result.outcome = Outcome::refused_address;
      endpoints.clear();
      break;
    }
    endpoints.emplace_back(address, url.port);
  }
  co_return endpoints;
}

asio::awaitable<void> ask(const http::Forward& order, const LookUp& names, Deadline until, http::Forwarded& result) {
  const auto url = http::parse_callback_url(order.url);
  if (!url) {
    result.outcome = Outcome::refused_address;
    co_return;
  }
  const std::vector<tcp::endpoint> endpoints = co_await checked_endpoints(order, names, *url, until, result);
  if (endpoints.empty()) co_return;
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  beast::tcp_stream stream(home);
  stream.expires_at(until);
  boost::system::error_code ec;
  co_await stream.async_connect(endpoints, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    result.outcome = failure(ec, Outcome::unreachable);
  } else if (url->secure) {
    co_await exchange_securely(stream, order, *url, result);
  } else {
    co_await exchange(stream, order, *url, result);
  }
}

}  // namespace

asio::awaitable<http::Forwarded> forward(const http::Forward& order) {
  static const LookUp system = look_up;
  co_return co_await forward(order, system);
}

asio::awaitable<http::Forwarded> forward(const http::Forward& order, const LookUp& names) {
  const Deadline started = std::chrono::steady_clock::now();
  const Deadline until = started + order.timeout;
  http::Forwarded result;
  try {
    co_await ask(order, names, until, result);
  } catch (const std::exception&) {
    result = http::Forwarded();
    result.outcome = Outcome::bad_reply;
  }
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
  co_return result;
}

}  // namespace restante::net
