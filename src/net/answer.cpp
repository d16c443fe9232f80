// The part of Connection that performs responses.
#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include <fmt/format.h>

#include "base/error.h"
#include "base/handed_writes.h"
#include "base/text.h"
#include "net/connection.h"
#include "net/upstream_request.h"

namespace restante::net {
namespace {

// On every answer. Pages and files that need other values set them; a header that a route sets is not set again.
constexpr std::string_view kSecurity =
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";
constexpr std::string_view kDefaultPolicy = "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
constexpr std::string_view kDefaultCache = "Cache-Control: no-store\r\n";

bool has_header(const http::Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [&](const http::Header& header) { return equal_ignoring_case(header.first, name); });
}

constexpr const char* kUnavailable =
    R"({"error":"the server cannot reach its storage; try again shortly","code":"platform_unavailable","retry_after":1})";
constexpr const char* kOutcomeUnknown =
    R"({"error":"the storage failed while this was being committed, and it may have been stored; repeat the request )"
    R"(with the same Idempotency-Key","code":"outcome_unknown","retry_after":1})";

http::Response unavailable(const char* body = kUnavailable) {
  http::Response response = http::json(503, body);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

std::string Connection::write_head(const http::Request& request, const http::Response& response,
                                   std::optional<std::uint64_t> length) const {
  std::string head;
  head.reserve(512);
  write_head_to(head, request, response, length, std::chrono::steady_clock::now());
  return head;
}

void Connection::write_head_to(std::string& head, const http::Request& request, const http::Response& response,
                               std::optional<std::uint64_t> length, SteadyTime now) const {
  const auto line = [&head](std::string_view name, std::string_view value) {
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  };
  const auto number = [](std::uint64_t value, std::array<char, 20>& room) {
    return std::string_view(room.data(), std::to_chars(room.data(), room.data() + room.size(), value).ptr);
  };
  std::array<char, 20> digits;
  head += "HTTP/1.1 ";
  head += number(static_cast<std::uint64_t>(response.status), digits);
  head += ' ';
  head += http::reason(response.status);
  head += "\r\n";
  line("Date", io_thread_.date(now));
  if (!response.content_type.empty()) line("Content-Type", response.content_type);
  if (length && response.status != 204 && response.status != 304) line("Content-Length", number(*length, digits));
  if (!length && !request.http_1_0) head += "Transfer-Encoding: chunked\r\n";
  for (const auto& [name, value] : response.headers) line(name, value);
  head += kSecurity;
  if (response.headers.empty()) {
    head += kDefaultPolicy;
    head += kDefaultCache;
  } else {
    if (!has_header(response, "Content-Security-Policy")) head += kDefaultPolicy;
    if (!has_header(response, "Cache-Control")) head += kDefaultCache;
  }
  if (request.secure) head += "Strict-Transport-Security: max-age=31536000\r\n";
  line("X-Request-Id", request.request_id);
  if (closing_) {
    head += "Connection: close\r\n";
  } else if (request.http_1_0) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
}

asio::awaitable<bool> Connection::send_text(std::string_view head, std::string_view body) {
  answering_ = true;
  boost::system::error_code ec;
  Socket::Pieces pieces{head, body};
  std::uint64_t sent = 0;
  const auto started = std::chrono::steady_clock::now();
  const auto advance = [&](std::size_t n) {
    sent += n;
    for (std::string_view& piece : pieces) {
      const std::size_t step = std::min(n, piece.size());
      piece.remove_prefix(step);
      n -= step;
    }
    if (pieces[0].empty()) std::swap(pieces[0], pieces[1]);
  };
  advance(socket_.write_now(pieces, ec));
  while (!ec && !pieces[0].empty()) {
    const auto pace = std::chrono::milliseconds(sent * 1000 / std::max<std::uint64_t>(1, shared().options.min_rate));
    const auto now = std::chrono::steady_clock::now();
    arm(std::min(now, started + pace) + timeouts().write_stall);
    const std::size_t n = co_await socket_.write_some(pieces, ec);
    disarm();
    if (expired_) co_return false;
    advance(n);
  }
  co_return !ec;
}

asio::awaitable<bool> Connection::send_file(const http::FileSlice& file) {
  const auto started = std::chrono::steady_clock::now();
  std::unique_ptr<Waiters::Armed> ends;
  auto may_go_on = [&file] { return file.may_go_on(); };
  std::uint64_t sent = 0;
  while (sent < file.length) {
    const auto pace = std::chrono::milliseconds(sent * 1000 / std::max<std::uint64_t>(1, shared().options.min_rate));
    const auto now = std::chrono::steady_clock::now();
    arm(std::min(now, started + pace) + timeouts().write_stall);
    boost::system::error_code ec;
    const std::size_t n = co_await socket_.send_file(file.fd, file.offset + sent, file.length - sent, ec);
    disarm();
    // A file that is shorter than its row says is our fault: the connection is cut, so that no client takes it for
    // complete.
    if (ec || n == 0 || expired_) co_return false;
    sent += n;
    if (sent == file.length || !file.may_go_on) continue;
    // The answer did not fit into the socket at once, so it can take long, and the client may lose the right to it
    // meanwhile.
    const bool first = !ends;
    if (first) ends = shared().waiters.arm(io_thread_.executor(), file.topics, {});
    if (!first && !ends->waiter().take_ring()) continue;
    const bool allowed = co_await on_pool(*shared().pool, may_go_on, group_);
    if (!allowed) co_return false;
  }
  co_return true;
}

asio::awaitable<http::Response> Connection::settle(http::Request& request, http::Response response) {
  for (;;) {
    if (auto* later = std::get_if<std::shared_ptr<http::Later>>(&response.content)) {
      const std::shared_ptr<http::Later> pending = *later;
      const asio::any_io_executor executor = io_thread_.executor();
      auto initiate = [&pending, &executor](auto handler) {
        const auto resume = make_resume(handler, executor);  // called on the writer's thread: it only posts
        until_memory([&] { pending->when_done(resume); });
      };
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
      auto answer = [&pending] { return pending->answer(); };
      if (pending->may_block == http::MayBlock::no) {
        const CountedWrites counted(&writes_);
        response = answer();
      } else {
        ThreadPool& pool = pending->may_block == http::MayBlock::on_bytes ? *shared().bytes_pool : *shared().pool;
        response = co_await on_pool(pool, answer, group_, &writes_);
      }
    } else if (auto* wait = std::get_if<std::shared_ptr<http::HeldPoll>>(&response.content)) {
      const std::shared_ptr<http::HeldPoll> held = *wait;
      response = co_await hold(request, held);
    } else if (auto* forward = std::get_if<std::shared_ptr<http::Forward>>(&response.content)) {
      const std::shared_ptr<http::Forward> order = *forward;
      http::Forwarded came = co_await net::forward(*order);
      auto then = [&] { return order->then(std::move(came)); };
      response = co_await on_pool(*shared().pool, then, group_, &writes_);
    } else {
      co_return response;
    }
  }
}

asio::awaitable<Connection::Sent> Connection::perform(http::Request& request, http::Response response) {
  std::exception_ptr failure;
  try {
    response = co_await settle(request, std::move(response));
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && watching_) socket_.cancel();
  if (failure) response = failure_response(failure, request);
  if (auto* events = std::get_if<std::shared_ptr<http::Events>>(&response.content)) {
    const std::shared_ptr<http::Events> stream = *events;
    co_return co_await stream_events(request, stream);
  }
  armed_.reset();
  const bool head_only = request.method == http::Method::head || response.status == 204 || response.status == 304;
  if (const auto* slice = std::get_if<std::shared_ptr<http::FileSlice>>(&response.content)) {
    const http::FileSlice& file = **slice;
    const std::string head = write_head(request, response, file.length);
    bool whole = co_await send_text(head, {});
    if (!whole || head_only) co_return Sent{response.status, whole};
    // TLS sends bytes and not a file, and to read a file may take the disk's time: not on this thread.
    if (file.fd >= 0 && !socket_.secure()) {
      whole = co_await send_file(file);
    } else {
      whole = co_await send_pieces(request, file);
    }
    co_return Sent{response.status, whole};
  }
  const std::string& body = std::get<std::string>(response.content);
  const std::string head = write_head(request, response, body.size());
  const std::string_view shown = head_only ? std::string_view() : std::string_view(body);
  // Nearly every answer fits into the socket at once: then no coroutine is created for it.
  boost::system::error_code ec;
  answering_ = true;
  const std::size_t sent = socket_.write_now({head, shown}, ec);
  if (ec) co_return Sent{response.status, false};
  if (sent == head.size() + shown.size()) co_return Sent{response.status, true};
  const std::string_view head_left = std::string_view(head).substr(std::min(sent, head.size()));
  const std::string_view body_left = shown.substr(sent > head.size() ? sent - head.size() : 0);
  const bool whole = co_await send_text(head_left, body_left);
  co_return Sent{response.status, whole};
}

asio::awaitable<http::Response> Connection::hold(http::Request&, std::shared_ptr<http::HeldPoll> wait) {
  const auto until = std::chrono::steady_clock::now() + wait->patience;
  const std::size_t group = wait->tenant.empty() ? group_ : group_named(wait->tenant);
  auto attempt = [&] { return wait->attempt(); };
  if (!armed_) {
    armed_ = shared().waiters.arm(io_thread_.executor(), wait->topics, wait->owner);
    std::optional<http::Response> answer = co_await on_pool(*shared().pool, attempt, group);
    if (answer) co_return std::move(*answer);
  }
  armed_->count();
  buffer_.release_if_empty();
  watch_for_departure();
  std::optional<http::Response> answer;
  Wake wake = Wake::rung;
  bool again = true;
  while (!answer && again) {
    const bool unfinished = wait->unfinished && wait->unfinished();
    // Without a wait if there is more to look at, but a client that has gone ends it.
    const SteadyTime next = unfinished ? SteadyTime() : until;
    wake = co_await armed_->waiter().park(next);
    again = wake == Wake::rung || (unfinished && wake == Wake::time_up);
    // Also when the time is up: the bell is only a hint.
    if (wake != Wake::ended) answer = co_await on_pool(*shared().pool, attempt, group);
  }
  if (watching_) socket_.cancel();
  if (!answer) co_return wait->give_up();
  if (wake == Wake::rung) {
    const auto took = std::chrono::steady_clock::now() - armed_->waiter().rung_at();
    shared().metrics.wake_latency.Observe(std::chrono::duration<double>(took).count());
  }
  co_return std::move(*answer);
}

void Connection::watch_for_departure() {
  if (watching_) return;
  unread_ = false;
  // It does not keep the connection alive: without memory to begin the next wait, the coroutine that answers is
  // destroyed, and the client must see its connection end then.
  auto when_readable = [weak = weak_from_this()](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!self) return;
    self->watching_ = false;
    if (ec || !self->armed_) return;
    if (self->socket_.peer_gone()) {
      self->closing_ = true;
      self->armed_->waiter().end();
    } else {
      self->unread_ = true;  // a pipelined request; from here on the tick checks the peer
    }
  };
  socket_.lowest().async_wait(tcp::socket::wait_read, std::move(when_readable));
  watching_ = true;
}

asio::awaitable<Connection::Sent> Connection::stream_events(http::Request& request,
                                                            std::shared_ptr<http::Events> events) {
  if (!armed_) armed_ = shared().waiters.arm(io_thread_.executor(), events->topics, events->owner);
  http::Response response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("X-Accel-Buffering", "no");
  closing_ = closing_ || request.http_1_0;
  const std::string head = write_head(request, response, std::nullopt);
  bool whole = co_await send_text(head, {});
  if (request.method == http::Method::head) {
    armed_.reset();
    co_return Sent{200, whole};
  }
  armed_->count();
  buffer_.release_if_empty();
  watch_for_departure();
  const auto frame = [&request](std::string_view text) {
    return request.http_1_0 ? std::string(text) : fmt::format("{:x}\r\n{}\r\n", text.size(), text);
  };
  auto next = [&] { return events->next(); };
  const std::size_t group = events->tenant.empty() ? group_ : group_named(events->tenant);
  while (whole) {
    const std::optional<http::Events::Step> step = co_await on_pool(*shared().pool, next, group);
    if (!step) break;
    std::string framed;
    if (!step->text.empty()) framed = frame(step->text);
    if (!framed.empty()) whole = co_await send_text(framed, {});
    if (!whole) break;
    // Also when there is more to send: a stream that always has something to send must notice the end, too.
    const SteadyTime until = step->more ? SteadyTime() : std::chrono::steady_clock::now() + events->keep_alive;
    const Wake wake = co_await armed_->waiter().park(until);
    if (wake == Wake::ended) break;
    if (wake != Wake::time_up || step->more) continue;
    const std::string comment = frame(": still here\n\n");
    whole = co_await send_text(comment, {});
  }
  if (watching_) socket_.cancel();
  armed_.reset();
  if (whole && !request.http_1_0) whole = co_await send_text("0\r\n\r\n", {});
  co_return Sent{200, whole};
}

http::Response Connection::failure_response(std::exception_ptr failure, const http::Request& request) {
  try {
    std::rethrow_exception(failure);
  } catch (const StorageFull& e) {
    shared().log.error("storage_full", {{"request_id", request.request_id}, {"reason", e.what()}});
    return http::json(507, R"({"error":"the server's disk is full","code":"storage_full"})");
  } catch (const OutcomeUnknown& e) {
    shared().log.error("outcome_unknown", {{"request_id", request.request_id}, {"reason", e.what()}});
    return unavailable(kOutcomeUnknown);
  } catch (const Unavailable& e) {
    shared().log.error("store_unavailable", {{"request_id", request.request_id}, {"reason", e.what()}});
    return unavailable();
  } catch (const std::bad_alloc&) {
    shared().log.error("out_of_memory", {{"request_id", request.request_id}});
    return unavailable(writes_ > 0 ? kOutcomeUnknown : kUnavailable);
  } catch (const std::exception& e) {
    shared().log.error("handler_failed", {{"request_id", request.request_id}, {"reason", e.what()}});
  } catch (...) {
    shared().log.error("handler_failed", {{"request_id", request.request_id}, {"reason", "not an exception"}});
  }
  return http::json(
      500, R"({"error":"this is our fault; the log has the details under this request id","code":"internal"})");
}

asio::awaitable<void> Connection::refuse(const http::Fault& fault, const http::Request& request) {
  closing_ = true;
  const http::Response response = http::to_response(fault);
  const std::string& body = std::get<std::string>(response.content);
  const std::string head = write_head(request, response, body.size());
  // A head that could not be parsed may still be one of a HEAD request.
  const bool head_only = request.method == http::Method::head || buffer_.view().starts_with("HEAD ");
  const bool sent = co_await send_text(head, head_only ? std::string_view() : std::string_view(body));
  if (sent) co_await linger();
}

asio::awaitable<void> Connection::linger() {
  // To close with unread bytes resets the connection, and the reset can overtake the answer. So: end the sending
  // direction, read on for a moment, then close.
  socket_.finish_sending();
  const auto until = std::chrono::steady_clock::now() + timeouts().linger;
  const auto sink = std::make_unique_for_overwrite<char[]>(16 << 10);
  boost::system::error_code ec;
  std::size_t n = 1;
  while (!ec && n > 0 && !expired_ && std::chrono::steady_clock::now() < until) {
    arm(until);
    n = co_await socket_.read_some(sink.get(), 16 << 10, ec);
    disarm();
  }
}

}  // namespace restante::net
