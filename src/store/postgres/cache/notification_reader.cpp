#include "store/postgres/cache/notification_reader.h"

#include <sys/eventfd.h>

#include "store/migration.h"
#include "store/postgres/cache/change_set.h"
#include "store/postgres/schema/opening.h"

namespace restante::postgres {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kTick(1'000);
// How long the read cache is trusted after the session was last known to receive. Two ticks: one may come late.
constexpr Milliseconds kTrust(2'000);
constexpr Milliseconds kTimeInterval(5'000);
constexpr Milliseconds kAnnounceInterest(10'000);
constexpr Milliseconds kInterestLasts(30'000);
constexpr Milliseconds kReportInterval(5'000);
constexpr Milliseconds kFirstPause(50);
constexpr Milliseconds kLongestPause(1'000);
// These events are stored nowhere and may be lost; they must not fill the memory.
constexpr std::size_t kMostWaiting = 4'096;

}  // namespace

void discipline(Connection& connection, DisciplinedClock& clock) {
  const auto before = clock.steady();
  const auto answer = connection.query("SELECT clock_timestamp()");
  const auto after = clock.steady();
  const Time database_time = answer.front().time(0);
  const auto middle = before + (after - before) / 2;
  // If the difference is smaller than half the round trip, the old time is as good as the new one, and does not jump.
  const auto off =
      clock.now() - (database_time + std::chrono::duration_cast<std::chrono::microseconds>(clock.steady() - middle));
  if (!clock.is_set() || std::chrono::abs(off) > (after - before) / 2) clock.set(database_time, middle);
}

NotificationReader::NotificationReader(ConnectionOptions endpoint, Uuid instance, ReadCache& read_cache,
                                       Primary& primary, Announcements* announcements, DisciplinedClock* clock)
    : endpoint_(std::move(endpoint)),
      instance_(instance),
      read_cache_(read_cache),
      primary_(primary),
      announcements_(announcements),
      clock_(clock),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Before any thread needs the time or waits for notifications. The first session of this server waits for a move that
  // has just ended; then no other can begin.
  connect(kSessionPatience);
  require_notifications();
  if (announcements_) {
    announcements_->set_sender([this](const TransientEvent& event) { enqueue(event); });
  }
  thread_ = std::thread([this] { work(); });
}

NotificationReader::~NotificationReader() {
  if (announcements_) announcements_->set_sender(nullptr);
  stopping_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void NotificationReader::enqueue(const TransientEvent& event) {
  if (std::chrono::steady_clock::now() > interest_until_.load()) return;
  std::string text = text_of(instance_, event);
  if (text.empty()) return;
  bool fits = false;
  {
    const MutexLock lock(mutex_);
    fits = waiting_.size() < kMostWaiting;
    if (fits) waiting_.push_back(std::move(text));
  }
  if (fits) eventfd_write(wake_.get(), 1);
}

void NotificationReader::connect(Milliseconds patience) {
  connection_.reset();
  auto made = std::make_unique<Connection>(endpoint_);
  // Events sent by this session are stored nowhere: no COMMIT here has to be durable.
  made->send(
      "SELECT set_config('synchronous_commit', 'off', false), set_config('application_name', 'restante listener', "
      "false)");
  lock_out_moves(*made, patience);
  const auto asked = std::chrono::steady_clock::now();
  made->query("LISTEN restante");
  // Without writes there are no notifications, and another server may be the primary by now.
  if (!primary_.add(*made)) throw Lost("PostgreSQL: the database can only be read");
  if (clock_) discipline(*made, *clock_);
  next_time_ = std::chrono::steady_clock::now() + kTimeInterval;
  next_interest_ = {};
  connection_ = std::move(made);
  receives_ = true;
  // Notifications may have been missed.
  read_cache_.forget_everything();
  trust_since(asked, connection_->server().generation);
}

void NotificationReader::require_notifications() {
  const std::string text = interest_text(instance_);
  Connection(endpoint_).query("SELECT pg_notify('restante', $1)", text);
  const auto until = std::chrono::steady_clock::now() + endpoint_.connect_timeout;
  while (std::chrono::steady_clock::now() < until) {
    for (const auto& [channel, received] : connection_->notifications(Milliseconds(100), wake_.get())) {
      if (received == text) return;
    }
  }
  throw OpenRefused(
      "notifications of other database sessions do not arrive: LISTEN needs a session that no other client shares; "
      "name PostgreSQL itself, or a pgbouncer with pool_mode = session");
}

void NotificationReader::work() {
  while (!stopping_) {
    try {
      read_notifications();
    } catch (const std::exception&) {
      receives_ = false;
      read_cache_.distrust();
      primary_.doubt();
    }
    if (!stopping_) reconnect();
  }
}

void NotificationReader::reconnect() {
  auto next_report = std::chrono::steady_clock::now();
  for (auto pause = kFirstPause; !stopping_ && !receives_; pause = std::min(pause * 2, kLongestPause)) {
    // Reported repeatedly: a request that began to wait after the last report would wait in vain.
    try {
      if (std::chrono::steady_clock::now() >= next_report) {
        if (announcements_) announcements_->notify_subscriber([](auto& subscriber) { subscriber.disconnected(); });
        next_report = std::chrono::steady_clock::now() + kReportInterval;
      }
      connect(Milliseconds(0));
      if (announcements_) announcements_->notify_subscriber([](auto& subscriber) { subscriber.reconnected(); });
    } catch (const std::exception&) {
      std::this_thread::sleep_for(pause);
    }
  }
}

void NotificationReader::read_notifications() {
  while (!stopping_) {
    const auto received = connection_->notifications(kTick, wake_.get());
    eventfd_t ignored = 0;
    eventfd_read(wake_.get(), &ignored);
    apply_notifications(received);
    if (announcements_) {
      announce_interest();
      send_queued();
    }
    const auto now = std::chrono::steady_clock::now();
    const bool unsure = primary_.generation() != connection_->server().generation;
    if (unsure || now >= next_time_ || (now >= next_trust_ && read_cache_.was_used())) confirm_connection();
  }
}

// The cache first: a request that an announcement wakes must not read what was true before it.
void NotificationReader::apply_notifications(const std::vector<std::pair<std::string, std::string>>& received) {
  for (const auto& [channel, text] : received) {
    // Notifications of this server, too: after a COMMIT with unknown outcome, its notification is the first sign that
    // it took effect.
    read_cache_.forget(change_set_of(text));
    if (announcements_ && read_text(text, instance_, *announcements_)) {
      interest_until_ = std::chrono::steady_clock::now() + kInterestLasts;
    }
  }
}

void NotificationReader::confirm_connection() {
  const auto asked = std::chrono::steady_clock::now();
  if (!primary_.ask(*connection_)) throw Lost("PostgreSQL: this session is not on the primary");
  if (clock_ && asked >= next_time_) discipline(*connection_, *clock_);
  apply_notifications(connection_->notifications(Milliseconds(0), wake_.get()));
  trust_since(asked, connection_->server().generation);
  if (asked >= next_time_) next_time_ = asked + kTimeInterval;
  next_trust_ = asked + kTick;
}

void NotificationReader::trust_since(std::chrono::steady_clock::time_point asked, std::uint64_t generation) {
  read_cache_.trust(asked + kTrust);
  // The order matters: a doubt that comes later than this question ends the trust itself.
  if (primary_.generation() != generation) read_cache_.distrust();
}

void NotificationReader::announce_interest() {
  bool wanted = false;
  announcements_->notify_subscriber([&](Announcements::Subscriber& subscriber) { wanted = subscriber.wants_events(); });
  const auto now = std::chrono::steady_clock::now();
  if (!wanted) {
    next_interest_ = {};
  } else if (now >= next_interest_) {
    connection_->query("SELECT pg_notify('restante', $1)", interest_text(instance_));
    next_interest_ = now + kAnnounceInterest;
  }
}

void NotificationReader::send_queued() {
  std::deque<std::string> texts;
  {
    const MutexLock lock(mutex_);
    texts.swap(waiting_);
  }
  if (texts.empty()) return;
  Array all(Type::text);
  for (const auto& text : texts) all.add(text);
  connection_->query("SELECT pg_notify('restante', text) FROM unnest($1) AS told (text)", all);
}

}  // namespace restante::postgres
