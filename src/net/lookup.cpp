#include "net/lookup.h"

#include <netdb.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "base/mutex.h"

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
// before the thread returns: `executor_of_caller` may be used only while there is a timer.
struct PendingLookup {
  explicit PendingLookup(const asio::any_io_executor& executor) : executor_of_caller(executor) {}

  Mutex mutex;
  asio::any_io_executor executor_of_caller RESTANTE_GUARDED_BY(mutex);
  // Null once the coroutine has stopped waiting.
  asio::steady_timer* timer RESTANTE_GUARDED_BY(mutex) = nullptr;
  std::optional<Addresses> result RESTANTE_GUARDED_BY(mutex);
};

class TimerRegistration {
 public:
  TimerRegistration(std::shared_ptr<PendingLookup> pending, asio::steady_timer& timer) : pending_(std::move(pending)) {
    const MutexLock lock(pending_->mutex);
    pending_->timer = &timer;
  }
  ~TimerRegistration() {
    const MutexLock lock(pending_->mutex);
    pending_->timer = nullptr;
  }
  TimerRegistration(const TimerRegistration&) = delete;
  TimerRegistration& operator=(const TimerRegistration&) = delete;

 private:
  std::shared_ptr<PendingLookup> pending_;
};

void finish_lookup(const std::shared_ptr<PendingLookup>& pending, Addresses addresses) {
  const MutexLock lock(pending->mutex);
  if (!pending->timer) return;
  pending->result = std::move(addresses);
  asio::post(pending->executor_of_caller, [pending] {
    const MutexLock again(pending->mutex);
    if (pending->timer) pending->timer->cancel();
  });
}

std::optional<Addresses> take_result(PendingLookup& pending) {
  const MutexLock lock(pending.mutex);
  return std::move(pending.result);
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
  if (auto result = take_result(*pending)) co_return std::move(*result);
  co_return late;
}

Addresses look_up_now(const std::string& host, std::chrono::milliseconds timeout) {
  if (auto literal = as_literal(host)) return std::move(*literal);
  struct Reply {
    Mutex mutex;
    ConditionVariable changed;
    std::optional<Addresses> result RESTANTE_GUARDED_BY(mutex);
  };
  const LookupSlot slot(threads_waiting, kMostWaiting);
  const auto reply = std::make_shared<Reply>();
  const bool started = slot.taken() && start(host, [reply](Addresses addresses) {
                         const MutexLock lock(reply->mutex);
                         reply->result = std::move(addresses);
                         reply->changed.notify_one();
                       });
  const auto until = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(reply->mutex);
  while (started && !reply->result && reply->changed.wait_until(lock, until) == std::cv_status::no_timeout) continue;
  if (reply->result) return std::move(*reply->result);
  Addresses late;
  late.outcome = Outcome::too_slow;
  return late;
}

}  // namespace restante::net
