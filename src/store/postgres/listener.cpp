#include "store/postgres/listener.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "store/postgres/news.h"

namespace restante::postgres {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kTick(1'000);
constexpr Milliseconds kAskTheTime(5'000);
constexpr Milliseconds kLookOn(10'000);
constexpr Milliseconds kLookedOn(30'000);
constexpr Milliseconds kComplain(5'000);
constexpr Milliseconds kFirstPause(50);
constexpr Milliseconds kLongestPause(1'000);
// What is kept nowhere may be lost; it must not fill the memory.
constexpr std::size_t kMostWaiting = 4'096;

}  // namespace

void discipline(Connection& connection, DisciplinedClock& clock) {
  const auto before = clock.steady();
  const auto answer = connection.query("SELECT clock_timestamp()");
  const auto after = clock.steady();
  const Time told = answer.front().time(0);
  const auto middle = before + (after - before) / 2;
  // Within what the way there and back may have taken, the old time is as good as the new one, and does not jump.
  const auto off =
      clock.now() - (told + std::chrono::duration_cast<std::chrono::microseconds>(clock.steady() - middle));
  if (!clock.is_told() || std::chrono::abs(off) > (after - before) / 2) clock.tell(told, middle);
}

Listener::Listener(Endpoint endpoint, Uuid instance, Announcements* announcements, DisciplinedClock* clock)
    : endpoint_(std::move(endpoint)),
      instance_(instance),
      announcements_(announcements),
      clock_(clock),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (announcements_) {
    announcements_->send_by([this](const Happening& happening) { enqueue(happening); });
  }
  // Before anybody asks for the time or waits for news.
  connect();
  thread_ = std::thread([this] { work(); });
}

Listener::~Listener() {
  if (announcements_) announcements_->send_by(nullptr);
  stopping_ = true;
  eventfd_write(wake_fd_, 1);
  thread_.join();
  close(wake_fd_);
}

void Listener::enqueue(const Happening& happening) {
  if (std::chrono::steady_clock::now() > looked_on_until_.load()) return;
  std::string text = text_of(instance_, happening);
  if (text.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return;
    waiting_.push_back(std::move(text));
  }
  eventfd_write(wake_fd_, 1);
}

void Listener::connect() {
  connection_.reset();
  auto made = std::make_unique<Connection>(endpoint_);
  // What is sent here is kept nowhere: nothing has to be durable.
  made->send("SELECT set_config('synchronous_commit', 'off', false)");
  made->query("LISTEN restante");
  if (clock_) discipline(*made, *clock_);
  next_time_ = std::chrono::steady_clock::now() + kAskTheTime;
  next_look_ = {};
  connection_ = std::move(made);
  hears_ = true;
}

void Listener::work() {
  while (!stopping_) {
    try {
      attend();
    } catch (const std::exception&) {
      hears_ = false;
    }
    if (!stopping_) heal();
  }
}

void Listener::heal() {
  auto next_complaint = std::chrono::steady_clock::now();
  for (auto pause = kFirstPause; !stopping_ && !hears_; pause = std::min(pause * 2, kLongestPause)) {
    // Again and again: who has begun to wait since the last time would wait in vain.
    if (std::chrono::steady_clock::now() >= next_complaint) {
      if (announcements_) announcements_->hear([](auto& listener) { listener.lost(); });
      next_complaint = std::chrono::steady_clock::now() + kComplain;
    }
    try {
      connect();
      if (announcements_) announcements_->hear([](auto& listener) { listener.healed(); });
    } catch (const std::exception&) {
      std::this_thread::sleep_for(pause);
    }
  }
}

void Listener::attend() {
  while (!stopping_) {
    const auto heard = connection_->notifications(kTick, wake_fd_);
    eventfd_t ignored = 0;
    eventfd_read(wake_fd_, &ignored);
    const auto now = std::chrono::steady_clock::now();
    if (announcements_) {
      for (const auto& [channel, text] : heard) {
        if (read_text(text, instance_, *announcements_)) looked_on_until_ = now + kLookedOn;
      }
      look_on();
      send_what_waits();
    }
    // Also a question whether the server is there at all.
    if (now >= next_time_) {
      if (clock_) {
        discipline(*connection_, *clock_);
      } else {
        connection_->query("SELECT 1");
      }
      next_time_ = now + kAskTheTime;
    }
  }
}

void Listener::look_on() {
  bool wanted = false;
  announcements_->hear([&](Announcements::Listener& listener) { wanted = listener.looks_on(); });
  const auto now = std::chrono::steady_clock::now();
  if (!wanted) {
    next_look_ = {};
  } else if (now >= next_look_) {
    connection_->query("SELECT pg_notify('restante', $1)", looking_on(instance_));
    next_look_ = now + kLookOn;
  }
}

void Listener::send_what_waits() {
  std::deque<std::string> texts;
  {
    const std::lock_guard lock(mutex_);
    texts.swap(waiting_);
  }
  if (texts.empty()) return;
  Array all(Type::text);
  for (const auto& text : texts) all.add(text);
  connection_->query("SELECT pg_notify('restante', text) FROM unnest($1) AS told (text)", all);
}

}  // namespace restante::postgres
