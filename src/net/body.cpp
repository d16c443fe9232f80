// The part of Connection that reads bodies: into memory, or chunk by chunk into a BodySink.
#include <algorithm>

#include <fmt/format.h>

#include "net/arrived_data_reader.h"
#include "net/connection.h"

namespace restante::net {
namespace {

constexpr std::size_t kStep = 256 << 10;      // one read of a streamed body
constexpr std::size_t kMaxPerJob = 4 << 20;   // so much of one body in one job on the pool, then other jobs run
constexpr std::size_t kSmallStep = 16 << 10;  // one read of a body that goes into memory

}  // namespace

bool Connection::body_is_buffered(const http::Request& request) const {
  return request.content_length && *request.content_length > 0 && *request.content_length <= buffer_.view().size();
}

bool Connection::discard_buffered_body(const http::Request& request) {
  if (!request.has_body() || body_consumed_) {
    body_consumed_ = false;
    return true;
  }
  if (!body_is_buffered(request)) return false;
  buffer_.consume(static_cast<std::size_t>(*request.content_length));
  return true;
}

std::optional<http::Fault> Connection::begin_body(const http::Request& request, Inflow& inflow, std::uint64_t limit) {
  inflow.limit = limit;
  inflow.started = std::chrono::steady_clock::now();
  if (!request.chunked) inflow.left = request.content_length.value_or(0);
  if (inflow.left && *inflow.left > limit) return http::faults::body_too_large;
  inflow.done = inflow.left && *inflow.left == 0;
  return std::nullopt;
}

void Connection::count_sized(Inflow& inflow, std::size_t n) {
  *inflow.left -= n;
  inflow.received += n;
  inflow.done = *inflow.left == 0;
}

std::optional<http::Fault> Connection::decode(Inflow& inflow, std::string_view bytes,
                                              std::vector<std::string_view>& pieces) {
  while (!inflow.done) {
    const auto step = inflow.chunks.next(bytes);
    if (step.state == http::ChunkedDecoder::State::malformed) return http::faults::malformed;
    bytes.remove_prefix(step.used);
    if (inflow.chunks.announced() > inflow.limit) return http::faults::body_too_large;
    if (step.state == http::ChunkedDecoder::State::done) {
      inflow.done = true;
      // The bytes after the body are the next request.
      buffer_.prepend(bytes);
    } else if (step.state == http::ChunkedDecoder::State::data) {
      inflow.received += step.data.size();
      if (inflow.received > inflow.limit) return http::faults::body_too_large;
      pieces.push_back(step.data);
    } else {
      break;
    }
  }
  return std::nullopt;
}

asio::awaitable<std::optional<http::Fault>> Connection::next_pieces(http::Request& request, Inflow& inflow, char* room,
                                                                    std::size_t size,
                                                                    std::vector<std::string_view>& pieces) {
  pieces.clear();
  std::size_t n = 0;
  if (!buffer_.empty()) {
    // Bytes that came with the head go first; they are copied, because decoding may put bytes back.
    n = std::min(buffer_.view().size(), size);
    if (inflow.left) n = static_cast<std::size_t>(std::min<std::uint64_t>(n, *inflow.left));
    buffer_.view().copy(room, n);
    buffer_.consume(n);
  } else {
    if (request.expect_continue && !inflow.sent_continue) {
      inflow.sent_continue = true;
      const bool sent = co_await send_text("HTTP/1.1 100 Continue\r\n\r\n", {});
      if (!sent) co_return http::faults::body_cut;
    }
    const Options& options = shared().options;
    const auto pace = std::chrono::milliseconds(inflow.received * 1000 / std::max<std::uint64_t>(1, options.min_rate));
    const SteadyTime last = inflow.started + timeouts().request;
    arm(std::min(inflow.started + inflow.held + timeouts().body_grace + pace, last));
    const std::size_t want = inflow.left ? static_cast<std::size_t>(std::min<std::uint64_t>(size, *inflow.left)) : size;
    boost::system::error_code ec;
    n = co_await socket_.read_some(room, want, ec);
    disarm();
    if (expired_) {
      expired_ = false;
      co_return http::faults::timed_out;
    }
    if (ec || n == 0) co_return http::faults::body_cut;
  }
  if (!inflow.left) co_return decode(inflow, {room, n}, pieces);
  count_sized(inflow, n);
  pieces.emplace_back(room, n);
  co_return std::nullopt;
}

asio::awaitable<std::optional<http::Fault>> Connection::read_body(http::Request& request, std::uint64_t limit) {
  Inflow inflow;
  auto fault = begin_body(request, inflow, limit);
  if (!fault && request.content_length) request.body.reserve(static_cast<std::size_t>(*request.content_length));
  const auto room = std::make_unique_for_overwrite<char[]>(kSmallStep);
  std::vector<std::string_view> pieces;
  while (!fault && !inflow.done) {
    fault = co_await next_pieces(request, inflow, room.get(), kSmallStep, pieces);
    for (const std::string_view piece : pieces) request.body.append(piece);
  }
  if (fault) {
    closing_ = true;
  } else {
    body_consumed_ = true;
  }
  co_return fault;
}

asio::awaitable<void> Connection::remove_upload(std::unique_ptr<http::BodySink>& sink) {
  auto clear = [&] {
    sink.reset();
    return true;
  };
  co_await on_pool(*shared().bytes_pool, clear, group_);
}

asio::awaitable<http::Response> Connection::stream_body(http::Request& request, const http::Route& route,
                                                        std::unique_ptr<http::BodySink>& sink, std::uint64_t limit) {
  Inflow inflow;
  if (const auto fault = begin_body(request, inflow, limit)) {
    closing_ = true;
    co_return http::to_response(*fault, limit);
  }
  const std::size_t step = inflow.left ? static_cast<std::size_t>(std::min<std::uint64_t>(*inflow.left, kStep)) : kStep;
  const auto room = std::make_unique_for_overwrite<char[]>(step);
  std::vector<std::string_view> pieces;
  std::optional<http::Response> answer;
  // One thread reads, hashes and writes the data that has arrived, while it is in its caches; the kernel receives more
  // meanwhile.
  std::optional<ArrivedDataReader> reader;
  auto take = [&]() -> std::optional<http::Response> {
    for (std::size_t taken = 0;;) {
      for (const std::string_view piece : pieces) {
        if (auto refused = sink->take(piece)) return refused;
      }
      if (inflow.done || !reader || taken >= kMaxPerJob) break;
      const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(step, *inflow.left));
      const std::size_t n = reader->read_now(room.get(), want);
      if (n == 0) break;
      taken += n;
      count_sized(inflow, n);
      pieces.assign(1, {room.get(), n});
    }
    if (!inflow.done) return std::nullopt;
    body_consumed_ = true;
    http::Response finished = sink->finish();
    sink.reset();
    return finished;
  };
  std::optional<http::Fault> fault;
  while (!fault && !answer) {
    if (!inflow.done) fault = co_await next_pieces(request, inflow, room.get(), step, pieces);
    if (!inflow.done && inflow.left && !reader) reader.emplace(socket_);
    if (!fault) answer = co_await on_pool(*shared().bytes_pool, take, group_, &writes_);
  }
  if (fault || !inflow.done) closing_ = true;
  body_consumed_ = inflow.done;
  if (sink) co_await remove_upload(sink);
  co_return fault ? http::refusal(route, *fault, limit) : std::move(*answer);
}

}  // namespace restante::net
