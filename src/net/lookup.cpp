#include "net/lookup.h"

#include <netdb.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace restante::net {
namespace {

namespace asio = boost::asio;
using Outcome = Addresses::Outcome;

constexpr int kMostThreads = 64;
constexpr int kMostWaiting = 4;
std::atomic<int> threads_running{0};
std::atomic<int> threads_waiting{0};

// One of a bounded number of slots; taken() is false when there was none.
class LookupSlot {
 public:
  LookupSlot(std::atomic<int>& count, int most) : count_(count), taken_(count.fetch_add(1) < most) {}
  ~LookupSlot() { count_.fetch_sub(1); }
  LookupSlot(const LookupSlot&) = delete;
  LookupSlot& operator=(const LookupSlot&) = delete;
  bool taken() const { return taken_; }

 private:
  std::atomic<int>& count_;
  const bool taken_;
};

Addresses resolve_by_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  Addresses result;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return result;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    result.found.push_back(endpoint.address());
  }
  ::freeaddrinfo(list);
  if (!result.found.empty()) result.outcome = Outcome::found;
  return result;
}

std::optional<Addresses> as_literal(const std::string& host) {
  boost::system::error_code ec;
  const asio::ip::address address = asio::ip::make_address(host, ec);
  if (ec) return std::nullopt;
  Addresses result;
  result.outcome = Outcome::found;
  result.found = {address};
  return result;
}

// Calls back on the look-up's thread; false when there are too many already.
bool start(const std::string& host, std::function<void(Addresses)> done) {
  auto slot = std::make_shared<LookupSlot>(threads_running, kMostThreads);
  if (!slot->taken()) return false;
  try {
    std::thread([host, slot = std::move(slot), done = std::move(done)] { done(resolve_by_system(host)); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

// Shared by the thread and the coroutine that waits for it. The coroutine and its event loop may be destroyed long
// before the thread returns: `executor_of_caller` may be used only while there is a timer, under the lock.
struct PendingLookup {
  explicit PendingLookup(const asio::any_io_executor& executor) : executor_of_caller(executor) {}

  asio::any_io_executor executor_of_caller;
  std::mutex mutex;
  asio::steady_timer* timer = nullptr;  // null once the coroutine has stopped waiting
  std::optional<Addresses> result;
};

class TimerRegistration {
 public:
  TimerRegistration(std::shared_ptr<PendingLookup> pending, asio::steady_timer& timer) : pending_(std::move(pending)) {
    const std::lock_guard lock(pending_->mutex);
    pending_->timer = &timer;
  }
  ~TimerRegistration() {
    const std::lock_guard lock(pending_->mutex);
    pending_->timer = nullptr;
  }
  TimerRegistration(const TimerRegistration&) = delete;
  TimerRegistration& operator=(const TimerRegistration&) = delete;

 private:
  std::shared_ptr<PendingLookup> pending_;
};

void finish_lookup(const std::shared_ptr<PendingLookup>& pending, Addresses addresses) {
  const std::lock_guard lock(pending->mutex);
  if (!pending->timer) return;
  pending->result = std::move(addresses);
  asio::post(pending->executor_of_caller, [pending] {
    const std::lock_guard again(pending->mutex);
    if (pending->timer) pending->timer->cancel();
  });
}

}  // namespace

asio::awaitable<Addresses> look_up(const std::string& host, std::chrono::steady_clock::time_point until) {
  if (auto literal = as_literal(host)) co_return std::move(*literal);
  const asio::any_io_executor executor_of_caller = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor_of_caller);
  const auto pending = std::make_shared<PendingLookup>(executor_of_caller);
  const TimerRegistration registration(pending, timer);
  timer.expires_at(until);
  Addresses late;
  late.outcome = Outcome::too_slow;
  if (!start(host, [pending](Addresses addresses) { finish_lookup(pending, std::move(addresses)); })) co_return late;
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  const std::lock_guard lock(pending->mutex);
  if (!pending->result) co_return late;
  co_return std::move(*pending->result);
}

Addresses look_up_now(const std::string& host, std::chrono::milliseconds timeout) {
  if (auto literal = as_literal(host)) return std::move(*literal);
  struct Reply {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Addresses> result;
  };
  const LookupSlot slot(threads_waiting, kMostWaiting);
  const auto reply = std::make_shared<Reply>();
  const bool started = slot.taken() && start(host, [reply](Addresses addresses) {
                         const std::lock_guard lock(reply->mutex);
                         reply->result = std::move(addresses);
                         reply->changed.notify_one();
                       });
  std::unique_lock lock(reply->mutex);
  const bool in_time = started && reply->changed.wait_for(lock, timeout, [&] { return reply->result.has_value(); });
  if (in_time) return std::move(*reply->result);
  Addresses late;
  late.outcome = Outcome::too_slow;
  return late;
}

}  // namespace restante::net
