#include "net/upstream_request.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace restante::net {
namespace {

namespace beast = boost::beast;
using Outcome = http::Forwarded::Outcome;
using Parser = beast::http::response_parser<beast::http::string_body>;

constexpr std::size_t kReplyHead = 16 << 10;
// Beast throws on a field of 64 KiB when its buffer could hold one.
constexpr std::size_t kReplyBuffer = 32 << 10;
constexpr int kMostInterim = 4;  // 100 Continue and other interim answers before the final one

// To read the authorities takes tens of milliseconds, so it is done once.
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

bool is_interim(const Parser& parser) {
  const unsigned status = parser.get().result_int();
  return status >= 100 && status < 200 && status != 101;
}

std::string head_of(const http::Forward& order, const http::CallbackUrl& url, std::optional<std::uint64_t> length) {
  std::string head = fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: {}\r\nConnection: close\r\n",
                                 url.target(), url.authority(), order.content_type);
  for (const auto& [name, value] : order.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += length ? fmt::format("Content-Length: {}\r\n\r\n", *length) : "Transfer-Encoding: chunked\r\n\r\n";
  return head;
}

}  // namespace

UpstreamRequest::UpstreamRequest(asio::any_io_executor executor, const http::Forward& order, Pace pace)
    : order_(order), reply_cap_(order.reply_cap), pace_(pace), socket_(executor), watchdog_(executor), end_(executor) {
  end_.expires_at(SteadyTime::max());
}

Outcome UpstreamRequest::failure(Outcome otherwise) const {
  if (ended_) return Outcome::cut;
  return late_ ? Outcome::timed_out : otherwise;
}

void UpstreamRequest::allow_until(SteadyTime until) {
  until_ = until;
  watch(until);
}

void UpstreamRequest::watch(SteadyTime deadline) {
  deadline_ = deadline;
  // A later deadline is checked when the earlier one expires: to move it costs nothing.
  if (!watching_ || deadline < watchdog_.expiry()) wait_for_deadline();
}

void UpstreamRequest::wait_for_deadline() {
  watching_ = true;
  watchdog_.expires_at(deadline_);
  watchdog_.async_wait([weak = weak_from_this()](const ErrorCode& ec) {
    const auto self = weak.lock();
    if (ec || !self) return;
    self->watching_ = false;
    if (std::chrono::steady_clock::now() < self->deadline_) {
      self->wait_for_deadline();
      return;
    }
    self->late_ = true;
    ErrorCode ignored;
    self->socket_.close(ignored);
  });
}

asio::awaitable<std::vector<asio::ip::tcp::endpoint>> UpstreamRequest::checked_endpoints(const LookUp& names) {
  std::vector<tcp::endpoint> endpoints;
  const Addresses addresses = co_await names(url_.host, until_);
  if (addresses.outcome != Addresses::Outcome::found) {
    const bool slow = addresses.outcome == Addresses::Outcome::too_slow;
    result_.outcome = slow ? Outcome::timed_out : Outcome::unreachable;
    co_return endpoints;
  }
  // One private address among public ones is enough to refuse: the owner of the name could choose which one is used.
  for (const asio::ip::address& address : addresses.found) {
    const std::string text = address.to_string();
    if (order_.may_connect && !order_.may_connect(text)) {
      result_.outcome = Outcome::refused_address;
      endpoints.clear();
      break;
    }
    endpoints.emplace_back(address, url_.port);
  }
  co_return endpoints;
}

asio::awaitable<bool> UpstreamRequest::open(const LookUp& names) {
  auto url = http::parse_callback_url(order_.url);
  if (!url) {
    result_.outcome = Outcome::refused_address;
    co_return false;
  }
  url_ = std::move(*url);
  const std::vector<tcp::endpoint> endpoints = co_await checked_endpoints(names);
  if (endpoints.empty()) co_return false;
  ErrorCode ec;
  if (late_ || ended_) ec = asio::error::operation_aborted;
  if (!ec) co_await asio::async_connect(socket_, endpoints, asio::redirect_error(asio::use_awaitable, ec));
  if (ec || late_ || ended_) {
    result_.outcome = failure(Outcome::unreachable);
    co_return false;
  }
  socket_.set_option(tcp::no_delay(true), ec);
  if (url_.secure) {
    const bool trusted = co_await tls_handshake();
    if (!trusted) co_return false;
  }
  result_.connected = true;
  co_return true;
}

asio::awaitable<bool> UpstreamRequest::tls_handshake() {
  tls_ = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket_, trust());
  tls_->set_verify_callback(asio::ssl::host_name_verification(url_.host));
  if (!url_.literal) SSL_set_tlsext_host_name(tls_->native_handle(), url_.host.c_str());
  ErrorCode ec;
  co_await tls_->async_handshake(asio::ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, ec));
  if (ec || ended_) result_.outcome = failure(Outcome::unreachable);
  co_return !ec && !ended_;
}

asio::awaitable<void> UpstreamRequest::begin(std::optional<std::uint64_t> length, std::function<void()> on_end) {
  chunked_ = !length;
  on_end_ = std::move(on_end);
  asio::co_spawn(socket_.get_executor(), listen(),
                 [self = shared_from_this()](std::exception_ptr failure) { self->conclude(failure); });
  const std::string head = head_of(order_, url_, length);
  co_await write(head, {}, {});
}

UpstreamRequest::SteadyTime UpstreamRequest::write_deadline(SteadyTime now) const {
  auto left = std::chrono::steady_clock::duration(pace_.stall);
  if (pace_.min_rate > 0) {
    const auto due = pace_.stall + std::chrono::milliseconds(written_ * 1000 / pace_.min_rate);
    left = std::clamp<std::chrono::steady_clock::duration>(due - writing_, std::chrono::milliseconds(0), left);
  }
  return std::min(until_, now + left);
}

asio::awaitable<bool> UpstreamRequest::write(std::string_view first, std::string_view second, std::string_view third) {
  const std::array<asio::const_buffer, 3> parts{asio::buffer(first), asio::buffer(second), asio::buffer(third)};
  beast::buffers_suffix<std::array<asio::const_buffer, 3>> left(parts);
  ErrorCode ec;
  while (!ec && !ended_ && beast::buffer_bytes(left) > 0) {
    const SteadyTime now = std::chrono::steady_clock::now();
    watch(write_deadline(now));
    std::size_t n = 0;
    if (tls_) {
      n = co_await tls_->async_write_some(left, asio::redirect_error(asio::use_awaitable, ec));
    } else {
      n = co_await socket_.async_write_some(left, asio::redirect_error(asio::use_awaitable, ec));
    }
    left.consume(n);
    written_ += n;
    writing_ += std::chrono::steady_clock::now() - now;
  }
  watch(until_);
  co_return !ec && !ended_;
}

asio::awaitable<bool> UpstreamRequest::send(std::string_view bytes) {
  bool sent = !ended_;
  if (bytes.empty()) co_return sent;
  if (chunked_) {
    const std::string size = fmt::format("{:x}\r\n", bytes.size());
    sent = co_await write(size, bytes, "\r\n");
  } else {
    sent = co_await write(bytes, {}, {});
  }
  if (sent) result_.sent += bytes.size();
  co_return sent;
}

asio::awaitable<bool> UpstreamRequest::finish_body() {
  if (!chunked_) co_return !ended_;
  co_return co_await write("0\r\n\r\n", {}, {});
}

asio::awaitable<void> UpstreamRequest::reply() {
  ErrorCode ignored;
  while (!ended_) co_await end_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> UpstreamRequest::listen() {
  beast::flat_buffer buffer(kReplyBuffer);
  std::optional<Parser> parser;
  ErrorCode ec;
  for (int interim = 0; !parser || (is_interim(*parser) && interim <= kMostInterim); ++interim) {
    parser.emplace();
    parser->header_limit(kReplyHead);
    parser->body_limit(reply_cap_);
    if (tls_) {
      co_await beast::http::async_read(*tls_, buffer, *parser, asio::redirect_error(asio::use_awaitable, ec));
    } else {
      co_await beast::http::async_read(socket_, buffer, *parser, asio::redirect_error(asio::use_awaitable, ec));
    }
    if (ec) break;
  }
  if (ended_) co_return;  // cut: the result is already set
  const unsigned status = parser->get().result_int();
  if (ec == beast::http::error::body_limit) {
    result_.outcome = Outcome::too_large;
  } else if (ec || status < 200 || status > 599) {
    result_.outcome = failure(Outcome::bad_reply);
  } else {
    result_.outcome = Outcome::answered;
    result_.status = static_cast<int>(status);
    result_.content_type = std::string(parser->get()[beast::http::field::content_type]);
    result_.body = std::move(parser->get().body());
  }
}

void UpstreamRequest::conclude(std::exception_ptr failure) {
  if (ended_) return;
  if (failure) {
    // Beast throws on some replies; in every case there is no answer.
    result_.outcome = Outcome::bad_reply;
    result_.body.clear();
  }
  const auto on_end = std::exchange(on_end_, nullptr);
  end();
  if (on_end) on_end();
}

void UpstreamRequest::close() {
  if (!ended_) result_.outcome = Outcome::cut;
  end();
}

void UpstreamRequest::end() {
  on_end_ = nullptr;
  ended_ = true;
  ErrorCode ignored;
  socket_.close(ignored);
  watchdog_.cancel();
  end_.cancel();
}

http::Forwarded UpstreamRequest::take_result() {
  const auto took = std::chrono::steady_clock::now() - started_;
  result_.took = std::chrono::duration_cast<std::chrono::milliseconds>(took);
  return std::exchange(result_, {});
}

}  // namespace restante::net
