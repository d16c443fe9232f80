#include "net/io_thread.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/until_memory.h"
#include "net/connection.h"

namespace restante::net {
namespace {

// Fine enough for the shortest configured deadline, coarse enough to cost nothing with ten thousand connections.
std::chrono::milliseconds tick_period(const Timeouts& timeouts) {
  const auto shortest = std::min(
      {timeouts.header, timeouts.idle, timeouts.body_grace, timeouts.write_stall, timeouts.request, timeouts.linger});
  return std::clamp(shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(250));
}

}  // namespace

IoThread::IoThread(unsigned index, Shared& shared)
    : shared_(shared),
      period_(tick_period(shared.options.timeouts)),
      gauge_(shared.metrics.connections(index)),
      requests_(shared.metrics.requests(index)) {
  std::array<std::uint8_t, 4> random{};
  random_bytes(random);
  for (const std::uint8_t byte : random) id_prefix_ = id_prefix_ << 8 | byte;
}

IoThread::~IoThread() { join(); }

void IoThread::start() {
  asio::post(context_, [this] { tick(); });
  thread_ = std::thread([this] { run(); });
}

// A handler that throws, usually because there is no memory to begin an operation, ends its own connection only.
void IoThread::run() {
  for (;;) {
    try {
      context_.run();
      return;
    } catch (const std::exception& e) {
      shared_.log.error("connection_failed", {{"reason", e.what()}});
    } catch (...) {
      shared_.log.error("connection_failed", {{"reason", "not an exception"}});
    }
  }
}

void IoThread::adopt(tcp::socket socket, std::string peer, std::string key) {
  load_.fetch_add(1, std::memory_order_relaxed);
  try {
    asio::post(context_, [this, socket = std::move(socket), peer = std::move(peer), key]() mutable {
      begin(std::move(socket), std::move(peer), key);
    });
  } catch (...) {
    load_.fetch_sub(1, std::memory_order_relaxed);
    shared_.counts.leave(key);
    throw;
  }
}

void IoThread::begin(tcp::socket socket, std::string peer, const std::string& key) {
  gauge_.Increment();
  std::shared_ptr<Connection> connection;
  try {
    connection = std::make_shared<Connection>(*this, std::move(socket), std::move(peer), key);
    connection->start();
    if (shared_.draining.load()) connection->drain();
  } catch (const std::exception& e) {
    // No memory, or none for OpenSSL: this client is lost, not the thread. A connection that was already made
    // releases its own place.
    shared_.log.error("connection_failed", {{"reason", e.what()}});
    if (connection) return;
    load_.fetch_sub(1, std::memory_order_relaxed);
    gauge_.Decrement();
    shared_.counts.leave(key);
  }
}

void IoThread::forget(std::list<Connection*>::iterator position, const std::string& key) {
  connections_.erase(position);
  load_.fetch_sub(1, std::memory_order_relaxed);
  gauge_.Decrement();
  shared_.counts.leave(key);
}

void IoThread::evict_idle(std::function<void(bool evicted)> done) {
  asio::post(context_, [this, done = std::move(done)] {
    const auto idle = std::find_if(connections_.begin(), connections_.end(), [](Connection* c) { return c->idle(); });
    const bool found = idle != connections_.end();
    if (found) (*idle)->abandon();
    done(found);
  });
}

void IoThread::drain() {
  asio::post(context_, [this] {
    const std::vector<Connection*> all(connections_.begin(), connections_.end());
    for (Connection* connection : all) connection->drain();
  });
}

void IoThread::abandon() {
  asio::post(context_, [this] {
    const std::vector<Connection*> all(connections_.begin(), connections_.end());
    for (Connection* connection : all) connection->abandon();
  });
}

void IoThread::join() {
  if (!thread_.joinable()) return;
  asio::post(context_, [this] {
    ticker_.cancel();
    work_.reset();
    context_.stop();
  });
  thread_.join();
}

void IoThread::tick() {
  const auto now = std::chrono::steady_clock::now();
  // A connection that closes is removed from the list, so the next one is taken first.
  for (auto next = connections_.begin(); next != connections_.end();) {
    Connection* connection = *next++;
    connection->tick(now);
  }
  ticker_.expires_after(period_);
  until_memory([this] {
    ticker_.async_wait([this](const boost::system::error_code& ec) {
      if (!ec) tick();
    });
  });
}

std::string_view IoThread::date(std::chrono::steady_clock::time_point now) {
  if (now >= date_until_) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(shared_.clock.now());
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    date_ = fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                        kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
    date_until_ = now + std::chrono::seconds(1);
  }
  return date_;
}

std::string IoThread::make_request_id() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string id(16, '0');
  std::uint64_t number = (id_prefix_ << 32) | id_count_++;
  for (std::size_t i = id.size(); number > 0; number >>= 4) id[--i] = kHex[number & 15];
  return id;
}

}  // namespace restante::net
