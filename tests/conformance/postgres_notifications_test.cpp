// Events between two servers when there are more than can be sent.
#include "store/postgres/cache/notification_reader.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <functional>
#include <future>
#include <set>
#include <thread>

#include "base/disciplined_clock.h"
#include "postgres_server.h"
#include "store/migration.h"
#include "store/postgres/schema/opening.h"

namespace restante::testing {
namespace {

using namespace std::chrono_literals;
using postgres::Connection;
using postgres::NotificationReader;
using postgres::ReadCache;

constexpr auto kCeiling = 2min;

bool happens(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kCeiling;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class RecordingSubscriber final : public Announcements::Subscriber {
 public:
  void appended(WorkspaceId, std::int64_t, std::int64_t) override {}
  void changed(WorkspaceId) override {}
  void revoked(TokenId) override {}
  void publish(TransientEvent one) override {
    const std::lock_guard lock(mutex_);
    names_.insert(one.name);
  }
  bool wants_events() override { return true; }
  void disconnected() override {}
  void reconnected() override {}

  std::size_t received() {
    const std::lock_guard lock(mutex_);
    return names_.size();
  }
  bool has_received(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return names_.contains(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

class PostgresNotifications : public ::testing::Test {
 protected:
  postgres::ConnectionOptions endpoint() const {
    postgres::ConnectionOptions made;
    made.url = database.url();
    made.connect_timeout = made.statement_timeout = made.answer_timeout = kCeiling;
    return made;
  }
  std::unique_ptr<NotificationReader> start(Announcements* announcements) {
    return std::make_unique<NotificationReader>(endpoint(), Uuid::make(SystemClock().now()), read_cache, primary,
                                                announcements, nullptr);
  }
  pid_t backend() {
    return static_cast<pid_t>(
        outside
            .query("SELECT pid::bigint FROM pg_stat_activity WHERE datname = current_database() AND "
                   "application_name = 'restante listener'")
            .front()
            .integer(0));
  }

  PostgresDatabase database;
  Connection outside{endpoint()};
  ReadCache read_cache;
  postgres::Primary primary{[] {}};
  Announcements here;
  Announcements there;
  RecordingSubscriber subscriber;
  const WorkspaceId workspace = WorkspaceId::make(SystemClock().now());
};

TEST_F(PostgresNotifications, EventsBeyondTheQueueAreLostAndTheRestArrive) {
  auto sender = start(&here);
  const pid_t process = backend();
  there.subscribe(&subscriber);
  auto receiver = start(&there);
  const auto name = [](const char* what, int number) { return what + std::to_string(number); };
  // Events that are sent before the sender knows of subscribers, or while its queue is full, are lost. So the event is
  // repeated until it arrives, but so rarely that it does not fill the queue.
  const auto arrives = [&](const std::string& what) {
    int polls = 0;
    return happens([&] {
      if (polls++ % 50 == 0) here.send({workspace, what, "{}"});
      return subscriber.has_received(what);
    });
  };
  ASSERT_TRUE(arrives("hello"));
  here.send({workspace, "alone", "{}"});
  ASSERT_TRUE(happens([&] { return subscriber.has_received("alone"); }));
  const std::size_t before = subscriber.received();

  ASSERT_EQ(kill(process, SIGSTOP), 0);
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) here.send({workspace, name("event", i), "{}"});
  here.send({workspace, "large", std::string(8'000, ' ')});
  ASSERT_EQ(kill(process, SIGCONT), 0);

  ASSERT_TRUE(arrives("bye")) << "later events arrive again";
  EXPECT_GE(subscriber.received(), before + 4'096);
  EXPECT_LT(subscriber.received(), kMany / 2u);
  EXPECT_FALSE(subscriber.has_received("large"));
  there.subscribe(nullptr);
}

TEST_F(PostgresNotifications, WithoutNotificationsItDoesNotStart) {
  outside.execute("CREATE FUNCTION pg_notify(text, text) RETURNS void LANGUAGE sql AS ''");
  const auto name = outside.query("SELECT current_database()").front().text(0);
  outside.query("ALTER DATABASE " + name + " SET search_path = public, pg_catalog");
  auto hasty = endpoint();
  hasty.connect_timeout = 20s;  // for the connection and for the notification
  const auto begin = [&] {
    NotificationReader(hasty, Uuid::make(SystemClock().now()), read_cache, primary, nullptr, nullptr);
  };
  EXPECT_THAT(begin, ::testing::ThrowsMessage<OpenRefused>(::testing::HasSubstr("pool_mode = session")));
}

TEST_F(PostgresNotifications, AMoveThatIsJustEndingDoesNotPreventTheStart) {
  outside.query("SELECT pg_advisory_lock($1)", postgres::kMoveLock);
  auto reader = std::async(std::launch::async, [&] { return start(nullptr); });
  const auto was_refused = [&] {
    return !outside
                .query(
                    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = "
                    "'restante listener' AND state = 'idle' AND query LIKE '%pg_try_advisory_lock_shared%'")
                .empty();
  };
  EXPECT_TRUE(happens([&] { return was_refused() || reader.wait_for(0s) == std::future_status::ready; }));
  outside.query("SELECT pg_advisory_unlock($1)", postgres::kMoveLock);
  EXPECT_NO_THROW(reader.get());
}

TEST_F(PostgresNotifications, TheClockFollowsTheDatabasesAndDoesNotJumpNeedlessly) {
  DisciplinedClock clock;
  postgres::discipline(outside, clock);
  ASSERT_TRUE(clock.is_set());
  // Now correct within a few milliseconds, which the answer above need not be.
  SteadyTime asked;
  do {
    asked = clock.steady();
    clock.set(SystemClock().now(), asked);
  } while (clock.steady() - asked > 10ms);
  // A slow answer: its time may be off by half of its duration.
  outside.execute(
      "CREATE SCHEMA ours; CREATE FUNCTION ours.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM pg_sleep(0.5); RETURN pg_catalog.clock_timestamp() - interval '0.45 seconds'; END $$");
  outside.query("SELECT set_config('search_path', 'public, ours, pg_catalog', false)");
  const auto ahead = [&] {
    auto most = std::chrono::nanoseconds::min();
    for (int i = 0; i < 10; ++i) {
      const Time now = clock.now();
      most = std::max<std::chrono::nanoseconds>(most, now.time_since_epoch() - clock.steady().time_since_epoch());
    }
    return most;
  };
  const auto before = ahead();
  postgres::discipline(outside, clock);
  EXPECT_LT(std::chrono::abs(ahead() - before), 100ms) << "as good as the time it had";
  clock.set(SystemClock().now() - 24h, clock.steady());
  postgres::discipline(outside, clock);
  EXPECT_LT(std::chrono::abs(clock.now() - SystemClock().now()), 12h) << "the database's time counts";
}

TEST_F(PostgresNotifications, NotificationsOfOthersDuringTheStartAreIgnored) {
  std::atomic<bool> over = false;
  std::thread noise([&] {
    Connection other(endpoint());
    while (!over) other.query("SELECT pg_notify('restante', 'noise')");
  });
  for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(start(nullptr));
  over = true;
  noise.join();
}

}  // namespace
}  // namespace restante::testing
