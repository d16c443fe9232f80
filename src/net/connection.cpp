#include "net/connection.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "http/credentials.h"
#include "net/upstream_request.h"

namespace restante::net {
namespace {

constexpr std::size_t kReadStep = 4096;

// For a request that could not even be read: failures of handlers are answered with more.
constexpr std::string_view kNoMemory =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 98\r\n"
    "Cache-Control: no-store\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    R"({"error":"the server has no memory left; try again","code":"platform_unavailable","retry_after":1})";
// For a request that handed a write to the store before the memory ran out.
constexpr std::string_view kNoMemoryAfterWrite =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 163\r\n"
    "Cache-Control: no-store\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    R"({"error":"the server has no memory left, and this may have been stored; repeat the request with the )"
    R"(same Idempotency-Key","code":"outcome_unknown","retry_after":1})";

bool is_request_id(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    if (!is_alpha(c) && !is_digit(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

http::Response no_route(const http::Router::Match& match) {
  if (match.allow.empty()) return http::json(404, R"({"error":"there is nothing at this address","code":"not_found"})");
  http::Response response =
      http::json(405, R"({"error":"this address does not take that method","code":"method_not_allowed"})");
  response.headers.emplace_back("Allow", match.allow);
  return response;
}

// A body that arrived with its head, in one piece. Its bytes stay in the buffer and are discarded with the request.
http::Response take_whole(std::unique_ptr<http::BodySink>& sink, std::string_view body) {
  auto refused = sink->take(body);
  http::Response answer = refused ? std::move(*refused) : sink->finish();
  sink.reset();
  return answer;
}

}  // namespace

Connection::Connection(IoThread& thread, tcp::socket socket, std::string peer, std::string key)
    : io_thread_(thread),
      socket_(std::move(socket), thread.shared().tls ? thread.shared().tls->current() : nullptr),
      peer_(std::move(peer)),
      key_(std::move(key)),
      position_(thread.connections().insert(thread.connections().end(), this)) {}

Connection::~Connection() { io_thread_.forget(position_, key_); }

void Connection::start() {
  asio::co_spawn(io_thread_.context(), run(), [self = shared_from_this()](std::exception_ptr failure) {
    if (!failure) return;
    // Closed here, because a forwarded request may still keep the connection alive.
    self->socket_.close();
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      self->shared().log.error("connection_failed", {{"reason", e.what()}});
    } catch (...) {
      self->shared().log.error("connection_failed", {{"reason", "not an exception"}});
    }
  });
}

void Connection::tick(SteadyTime now) {
  if (now >= deadline_) {
    disarm();
    expired_ = true;
    socket_.cancel();
  }
  if (unread_ && armed_ && socket_.peer_gone()) {
    closing_ = true;
    armed_->waiter().end();
  }
}

void Connection::drain() {
  closing_ = true;
  if (idle_) socket_.cancel();
}

void Connection::abandon() {
  closing_ = true;
  expired_ = true;
  idle_ = false;
  if (armed_) armed_->waiter().end();
  if (const auto upstream = upstream_.lock()) upstream->close();
  socket_.close();
}

asio::awaitable<void> Connection::run() {
  if (socket_.secure()) {
    arm(std::chrono::steady_clock::now() + timeouts().header);
    const auto ec = co_await socket_.handshake();
    disarm();
    if (ec) co_return;
  }
  while (!closing_ && !expired_) {
    bool no_memory = false;
    answering_ = false;
    writes_ = 0;
    try {
      // An idle connection owns no buffer and no request: only this frame, the socket and its entry in the list.
      if (buffer_.empty() && !socket_.secure()) {
        buffer_.release_if_empty();
        idle_ = true;
        io_thread_.connections().splice(io_thread_.connections().end(), io_thread_.connections(), position_);
        arm(std::chrono::steady_clock::now() + timeouts().idle);
        const auto ec = co_await socket_.readable();
        idle_ = false;
        disarm();
        if (ec || expired_) co_return;
        const std::span<char> room = io_thread_.scratch();
        boost::system::error_code failed;
        const std::size_t n = socket_.read_now(room.data(), room.size(), failed);
        if (failed) co_return;
        std::string_view bytes(room.data(), n);
        serve_now(bytes);
        if (!bytes.empty()) buffer_.prepend(bytes);
        if (!unsent_.empty()) {
          const bool whole = co_await send_text(unsent_, {});
          unsent_ = std::string();
          if (!whole) break;
        }
        if (buffer_.empty()) continue;
      }
      const bool go_on = co_await serve_one();
      if (!go_on) break;
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
    if (!no_memory) continue;
    shared().log.error("out_of_memory");
    if (answering_) break;
    const std::string_view answer = writes_ > 0 ? kNoMemoryAfterWrite : kNoMemory;
    const bool told = co_await send_text(answer, {});
    if (told) co_await linger();
    break;
  }
  socket_.close();
}

void Connection::serve_now(std::string_view& bytes) {
  const http::Limits& limits = shared().options.limits;
  while (!bytes.empty() && !closing_ && unsent_.empty() && !shared().draining.load(std::memory_order_relaxed)) {
    http::HeadScanner scanner;
    const auto outcome = scanner.scan(bytes, limits);
    if (outcome.fault || outcome.head_size == 0) return;
    http::Request request;
    if (http::parse_head(bytes.substr(0, outcome.head_size), limits, request)) return;
    if (!request.keep_alive || request.has_body() || request.method != http::Method::get) return;
    const http::Router::Match match = shared().router->match(request);
    if (!match.route || match.route->run != http::Run::at_once) return;
    const auto started = std::chrono::steady_clock::now();
    bytes.remove_prefix(outcome.head_size);
    identify(request);
    io_thread_.requests().Increment();
    const http::Response response = answer_at_once(request, *match.route);
    const std::string& body = std::get<std::string>(response.content);
    std::string& answer = io_thread_.answer();
    answer.clear();
    write_head_to(answer, request, response, body.size(), started);
    if (response.status != 204 && response.status != 304) answer += body;
    boost::system::error_code ec;
    answering_ = true;
    const std::size_t sent = socket_.write_now({answer, {}}, ec);
    if (ec) closing_ = true;
    if (!ec && sent < answer.size()) unsent_ = answer.substr(sent);
    account(request, match, response.status, started);
  }
}

asio::awaitable<bool> Connection::serve_one() {
  http::Request request;
  std::optional<http::Fault> fault;
  const Received received = co_await receive_head(request, fault);
  if (received == Received::closed) co_return false;
  const auto started = std::chrono::steady_clock::now();
  identify(request);
  io_thread_.requests().Increment();
  if (fault) {
    co_await refuse(*fault, request);
    account(request, {}, fault->status, started);
    co_return false;
  }

  const http::Router::Match match = shared().router->match(request);
  http::Response response;
  if (!match.route) {
    response = no_route(match);
    if (request.has_body()) closing_ = true;  // it is not known what the body was meant for: it is not read at all
  } else if (match.route->run == http::Run::at_once && !request.has_body()) {
    response = answer_at_once(request, *match.route);
  } else {
    response = co_await obtain(request, *match.route);
  }
  if (!discard_buffered_body(request)) closing_ = true;
  if (!request.keep_alive || shared().draining.load(std::memory_order_relaxed)) closing_ = true;
  const Sent sent = co_await perform(request, std::move(response));
  account(request, match, sent.status, started);
  if (!sent.whole) co_return false;
  if (closing_) co_await linger();
  co_return !closing_;
}

http::Response Connection::answer_at_once(http::Request& request, const http::Route& route) {
  try {
    if (route.admit) {
      if (auto refused = route.admit(request)) return std::move(*refused);
    }
    return route.handle(request);
  } catch (...) {
    return failure_response(std::current_exception(), request);
  }
}

asio::awaitable<Connection::Received> Connection::receive_head(http::Request& request,
                                                               std::optional<http::Fault>& fault) {
  const http::Limits& limits = shared().options.limits;
  http::HeadScanner scanner;
  // On TLS the wait for the next request happens here, with the timeout of idle connections.
  bool waiting = buffer_.empty() && socket_.secure();
  for (;;) {
    const auto outcome = scanner.scan(buffer_.view(), limits);
    if (outcome.fault) {
      fault = outcome.fault;
      co_return Received::ok;
    }
    if (outcome.head_size > 0) {
      fault = http::parse_head(buffer_.view().substr(0, outcome.head_size), limits, request);
      buffer_.consume(outcome.head_size);
      disarm();
      co_return Received::ok;
    }
    const auto now = std::chrono::steady_clock::now();
    if (waiting) arm(now + timeouts().idle);
    if (!waiting && deadline_ == SteadyTime::max()) arm(now + timeouts().header);
    idle_ = waiting;
    boost::system::error_code ec;
    char* const room = buffer_.prepare(kReadStep);
    const std::size_t n = co_await socket_.read_some(room, kReadStep, ec);
    idle_ = false;
    if (waiting) disarm();
    waiting = false;
    if (expired_ && !buffer_.empty()) {
      expired_ = false;
      fault = http::faults::timed_out;
      co_return Received::ok;
    }
    if (ec || n == 0 || expired_) co_return Received::closed;
    buffer_.commit(n);
  }
}

void Connection::identify(http::Request& request) {
  const std::string_view given = request.header("X-Request-Id");
  request.request_id = is_request_id(given) ? std::string(given) : io_thread_.make_request_id();
  request.secure = socket_.secure();
  request.peer = peer_;
  const auto& trusted = shared().options.trusted_proxies;
  if (!trusted.empty()) {
    request.peer = http::client_address(peer_, request.header_list("X-Forwarded-For"), trusted);
    const bool by_proxy = std::any_of(trusted.begin(), trusted.end(), [&](const auto& n) { return n.contains(peer_); });
    if (by_proxy && equal_ignoring_case(request.header("X-Forwarded-Proto"), "https")) request.secure = true;
  }
  join_group(request);
}

// Until its guard has verified who sends it, the request counts for its address: a client can invent secrets, and
// would have the turns of many.
void Connection::join_group(const http::Request& request) {
  group_ = io_thread_.known_clients().find(http::secret_of(request));
  if (group_ != 0) return;
  group_ = request.peer == peer_ ? group_named(key_) : group_named(http::limit_key(request.peer));
}

void Connection::remember_client(const http::Request& request, bool refused) {
  const std::string_view secret = http::secret_of(request);
  if (!request.client.empty()) {
    group_ = group_named(request.client);
    io_thread_.known_clients().remember(secret, group_);
  } else if (refused) {
    io_thread_.known_clients().forget(secret);
  }
}

asio::awaitable<http::Response> Connection::obtain(http::Request& request, const http::Route& route) {
  using http::Body;
  if (route.body == Body::none && request.has_body()) {
    closing_ = true;
    co_return http::to_response(http::faults::unexpected_body);
  }
  if ((route.body == Body::required || route.body == Body::stream) && !request.chunked && !request.content_length) {
    closing_ = true;
    co_return http::to_response(http::faults::length_required);
  }
  std::exception_ptr failure;
  std::unique_ptr<http::BodySink> sink;
  std::unique_ptr<http::Relay> relay;
  try {
    bool was_refused = false;
    const std::uint64_t usual =
        route.body == Body::stream ? shared().options.limits.stream_body : shared().options.limits.json_body;
    const std::uint64_t limit = route.body_limit > 0 ? route.body_limit : usual;
    std::unique_ptr<Waiters::Armed> armed;
    // A body that has arrived already needs no second job on the pool.
    const bool here = body_is_buffered(request);
    const bool body_first = route.body != Body::stream && here;
    if (body_first) {
      const auto fault = co_await read_body(request, limit);
      if (fault) co_return http::refusal(route, *fault, limit);
    }
    const bool ready = body_first || !request.has_body();
    const bool no_bytes = here && *request.content_length <= shared().options.body_without_bytes;
    const bool taken_along = here && (no_bytes || shared().bytes_pool == shared().pool);
    auto enter = [&]() -> std::optional<http::Response> {
      if (route.admit) {
        if (auto refused = route.admit(request)) {
          was_refused = true;
          return refused;
        }
      }
      if (route.body == Body::stream) {
        http::BodyHandling handling = route.receive(request);
        if (auto* refused = std::get_if<http::Response>(&handling)) return std::move(*refused);
        if (auto* taker = std::get_if<std::unique_ptr<http::BodySink>>(&handling)) sink = std::move(*taker);
        if (auto* passing = std::get_if<std::unique_ptr<http::Relay>>(&handling)) relay = std::move(*passing);
        if (sink && taken_along && *request.content_length <= limit) {
          return take_whole(sink, buffer_.view().substr(0, static_cast<std::size_t>(*request.content_length)));
        }
        return std::nullopt;
      }
      if (!ready) return std::nullopt;
      http::Response answer = route.handle(request);
      // Armed before its first check, in the same job: a commit in between rings.
      if (const auto* wait = std::get_if<std::shared_ptr<http::HeldPoll>>(&answer.content)) {
        armed = shared().waiters.arm(io_thread_.executor(), (*wait)->topics, (*wait)->owner);
        if (auto found = (*wait)->attempt()) return found;
      }
      return answer;
    };
    std::optional<http::Response> answer = co_await on_pool(*shared().pool, enter, group_, &writes_);
    remember_client(request, was_refused);
    armed_ = std::move(armed);  // not in there: the tick reads it on this thread
    if (answer) co_return std::move(*answer);
    if (relay) co_return co_await relay_body(request, route, *relay, sink, limit);
    if (sink) co_return co_await stream_body(request, route, sink, limit);
    const auto fault = co_await read_body(request, limit);
    if (fault) co_return http::refusal(route, *fault, limit);
    auto handle = [&] { return route.handle(request); };
    co_return co_await on_pool(*shared().pool, handle, group_, &writes_);
  } catch (...) {
    failure = std::current_exception();
  }
  if (sink) co_await remove_upload(sink);
  co_return failure_response(failure, request);
}

void Connection::account(const http::Request& request, const http::Router::Match& match, int status,
                         SteadyTime started) {
  const auto took = std::chrono::steady_clock::now() - started;
  shared().account(match.route, match.index, status, took);
  const LogRequests policy = shared().options.log_requests;
  const bool failed = status >= 400 && !(match.route && match.route->answers_a_state && status >= 500);
  if (policy == LogRequests::none || (policy == LogRequests::errors && !failed)) return;
  shared().log.write(status >= 500 ? LogLevel::error : LogLevel::info, "request",
                     {{"request_id", request.request_id},
                      {"method", name_of(request.method)},
                      {"route", match.route ? std::string_view(match.route->pattern) : std::string_view("unmatched")},
                      {"status", static_cast<std::int64_t>(status)},
                      {"duration_ms", std::chrono::duration<double, std::milli>(took).count()},
                      {"peer", request.peer},
                      {"traceparent", request.traceparent()}});
}

}  // namespace restante::net
