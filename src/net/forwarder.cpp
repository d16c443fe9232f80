#include "net/forwarder.h"

#include <optional>

#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "base/text.h"

namespace restante::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
using Outcome = http::Forwarded::Outcome;

constexpr std::size_t kReplyHead = 16 << 10;

struct Url {
  bool secure = false;
  std::string host;
  std::string port;
  std::string target;
};

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  if (text.substr(0, 8) == "https://") {
    url.secure = true;
    text.remove_prefix(8);
  } else if (text.substr(0, 7) == "http://") {
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  const auto slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  url.target = slash == std::string_view::npos ? "/" : std::string(text.substr(slash));
  if (authority.find('@') != std::string_view::npos) return std::nullopt;
  const auto bracket = authority.rfind(']');
  const auto colon = authority.rfind(':');
  url.port = url.secure ? "443" : "80";
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    url.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  }
  if (authority.size() > 2 && authority.front() == '[') authority = authority.substr(1, authority.size() - 2);
  url.host = authority;
  if (url.host.empty() || !parse_unsigned(url.port)) return std::nullopt;
  return url;
}

Outcome failure(const boost::system::error_code& ec) {
  return ec == beast::error::timeout ? Outcome::timed_out : Outcome::unreachable;
}

// Sends and receives on a connected stream, plain or TLS.
template <class Stream>
asio::awaitable<void> exchange(Stream& stream, const http::Forward& order, const Url& url, http::Forwarded& result) {
  beast::http::request<beast::http::string_body> request(beast::http::verb::post, url.target, 11);
  const bool usual_port = url.port == (url.secure ? "443" : "80");
  request.set(beast::http::field::host, usual_port ? url.host : url.host + ":" + url.port);
  request.set(beast::http::field::content_type, order.content_type);
  request.set(beast::http::field::connection, "close");
  for (const auto& [name, value] : order.headers) request.set(name, value);
  request.body() = order.body;
  request.prepare_payload();
  boost::system::error_code ec;
  co_await beast::http::async_write(stream, request, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    result.outcome = failure(ec);
    co_return;
  }
  beast::flat_buffer buffer(64 << 10);
  beast::http::response_parser<beast::http::string_body> parser;
  parser.header_limit(kReplyHead);
  parser.body_limit(order.reply_cap);
  co_await beast::http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, ec));
  if (ec == beast::http::error::body_limit) {
    result.outcome = Outcome::too_large;
  } else if (ec) {
    result.outcome = ec == beast::error::timeout ? Outcome::timed_out : Outcome::bad_reply;
  } else {
    result.outcome = Outcome::answered;
    result.status = static_cast<int>(parser.get().result_int());
    result.content_type = std::string(parser.get()[beast::http::field::content_type]);
    result.body = std::move(parser.get().body());
  }
}

asio::awaitable<void> ask(const http::Forward& order, http::Forwarded& result) {
  const auto url = parse_url(order.url);
  if (!url) {
    result.outcome = Outcome::refused_address;
    co_return;
  }
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  boost::system::error_code ec;
  tcp::resolver resolver(home);
  const tcp::resolver::results_type found =
      co_await resolver.async_resolve(url->host, url->port, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) co_return;
  // One private address among public ones is enough to refuse: the next look-up may pick that one.
  for (const auto& entry : found) {
    const std::string address = entry.endpoint().address().to_string();
    if (order.may_connect && !order.may_connect(address)) {
      result.outcome = Outcome::refused_address;
      co_return;
    }
  }
  beast::tcp_stream stream(home);
  stream.expires_after(order.timeout);
  co_await stream.async_connect(found, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    result.outcome = failure(ec);
    co_return;
  }
  if (!url->secure) {
    co_await exchange(stream, order, *url, result);
    co_return;
  }
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  tls.set_default_verify_paths(ec);
  beast::ssl_stream<beast::tcp_stream> secure(std::move(stream), tls);
  secure.set_verify_mode(asio::ssl::verify_peer);
  secure.set_verify_callback(asio::ssl::host_name_verification(url->host));
  SSL_set_tlsext_host_name(secure.native_handle(), url->host.c_str());
  co_await secure.async_handshake(asio::ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    result.outcome = failure(ec);
    co_return;
  }
  co_await exchange(secure, order, *url, result);
}

}  // namespace

asio::awaitable<http::Forwarded> forward(const http::Forward& order) {
  const auto started = std::chrono::steady_clock::now();
  http::Forwarded result;
  co_await ask(order, result);
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
  co_return result;
}

}  // namespace restante::net
