// A switchover as the sessions of a process see it. One server plays both: each session of the test database has a
// setting that names the server it is on, and a new session gets the one to which the url leads at that moment.
#include "store/postgres/connections/primary.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "postgres_server.h"
#include "store/postgres/cache/notification_reader.h"
#include "store/postgres/connections/session_pool.h"
#include "store/postgres/lanes/write_lane.h"

namespace restante::testing {
namespace {

using namespace std::chrono_literals;
using postgres::Connection;
using postgres::Lost;
using postgres::NotificationReader;
using postgres::Primary;
using postgres::SessionPool;
using postgres::Transaction;
using postgres::WriteLane;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr auto kCeiling = 2min;
const std::string kOld = "2001-01-01 00:00:00Z";
const std::string kNew = "2002-02-02 00:00:00Z";

bool happens(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kCeiling;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class CountingSubscriber final : public Announcements::Subscriber {
 public:
  void appended(WorkspaceId, std::int64_t, std::int64_t) override {}
  void changed(WorkspaceId) override {}
  void revoked(TokenId) override {}
  void publish(TransientEvent) override {}
  bool wants_events() override { return false; }
  void disconnected() override {}
  void reconnected() override { ++reconnections; }

  std::atomic<int> reconnections = 0;
};

class PostgresPrimary : public ::testing::Test {
 protected:
  PostgresPrimary() {
    outside.execute(
        "CREATE FUNCTION pg_postmaster_start_time() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN IF "
        "current_setting('test.waits', true) = 'on' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF; RETURN "
        "current_setting('test.server')::timestamptz; END $$");
    set_default("search_path", "public, pg_catalog");
    lead_to(kOld);
  }

  postgres::ConnectionOptions endpoint() const {
    postgres::ConnectionOptions made;
    made.url = database.url();
    made.connect_timeout = made.statement_timeout = made.answer_timeout = kCeiling;
    return made;
  }
  // Of sessions that are opened from now on.
  void set_default(const std::string& name, const std::string& value) {
    const auto mine = outside.query("SELECT current_database()").front().text(0);
    const std::string quoted = value.find(',') == std::string::npos ? "'" + value + "'" : value;
    outside.query("ALTER DATABASE " + mine + " SET " + name + " = " + quoted);
  }
  void lead_to(const std::string& server) { set_default("test.server", server); }
  static void set(Connection& session, const std::string& name, const std::string& value) {
    session.query("SELECT set_config($1, $2, false)", name, value);
  }
  static void make_read_only(Connection& session) { set(session, "default_transaction_read_only", "on"); }
  static std::string server_of(Connection& session) {
    return session.query("SELECT current_setting('test.server')").front().text(0);
  }
  std::int64_t count(const std::string& of) { return outside.query("SELECT count(*) FROM " + of).front().integer(0); }
  std::unique_ptr<WriteLane> start_lane() {
    WriteLane::Limits limits;
    limits.patience = limits.settling = kCeiling;
    return std::make_unique<WriteLane>(endpoint(), Uuid::make(SystemClock().now()), limits, read_cache, primary,
                                       nullptr);
  }
  // While `question()` asks a session that waits, `meanwhile()` happens.
  bool answer_of(const std::function<bool()>& question, const std::function<void()>& meanwhile) {
    outside.query("SELECT pg_advisory_lock(1)");
    auto answer = std::async(std::launch::async, question);
    EXPECT_TRUE(happens([&] {
      return count("pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1;
    }));
    meanwhile();
    outside.query("SELECT pg_advisory_unlock(1)");
    return answer.get();
  }

  PostgresDatabase database{PostgresDatabase::Schema::complete};
  Connection outside{endpoint()};
  postgres::ReadCache read_cache;
  std::atomic<int> forgotten = 0;
  Primary primary{[this] { ++forgotten; }};
};

TEST_F(PostgresPrimary, TheServerOfANewSessionThatTakesWritesIsThePrimary) {
  Connection old(endpoint());
  EXPECT_FALSE(primary.has(old)) << "nobody has asked it";
  EXPECT_TRUE(primary.add(old));
  EXPECT_TRUE(primary.has(old));
  lead_to(kNew);
  Connection fresh(endpoint());
  const int before = forgotten;
  EXPECT_TRUE(primary.add(fresh));
  EXPECT_EQ(forgotten, before + 1) << "what the old one answered is forgotten";
  EXPECT_TRUE(primary.has(fresh));
  EXPECT_TRUE(primary.is_on(fresh));
  EXPECT_FALSE(primary.is_on(old));
  EXPECT_FALSE(primary.has(old)) << "although it takes writes";
  EXPECT_FALSE(primary.ask(old));
}

TEST_F(PostgresPrimary, AServerThatTakesNoWritesIsUsedOnlyIfNoOtherIsKnownToTakeThem) {
  Connection old(endpoint());
  ASSERT_TRUE(primary.add(old));
  lead_to(kNew);
  set_default("default_transaction_read_only", "on");
  Connection standby(endpoint());
  EXPECT_THAT([&] { primary.add(standby); }, ThrowsMessage<Lost>(HasSubstr("takes no writes")));
  EXPECT_TRUE(primary.has(old));
  primary.doubt();  // as when the sessions on the old one are lost
  EXPECT_FALSE(primary.add(standby)) << "it takes no writes";
  EXPECT_TRUE(primary.has(standby)) << "but it can be read";
  EXPECT_FALSE(primary.has(old));
}

TEST_F(PostgresPrimary, InDoubtEverySessionIsAskedAgain) {
  Connection one(endpoint());
  Connection two(endpoint());
  ASSERT_TRUE(primary.add(one) && primary.add(two));
  make_read_only(two);
  const int before = forgotten;
  primary.doubt();
  primary.doubt();
  EXPECT_EQ(forgotten, before + 1) << "a doubt that lasts is one doubt";
  EXPECT_TRUE(primary.has(one));
  EXPECT_FALSE(primary.has(two));
  EXPECT_EQ(forgotten, before + 2) << "and that is another one";
  EXPECT_FALSE(primary.ask(two));
  EXPECT_EQ(forgotten, before + 2);
}

TEST_F(PostgresPrimary, ANewSessionThatTakesNoWritesPutsItsServerInDoubt) {
  Connection one(endpoint());
  ASSERT_TRUE(primary.add(one));
  set_default("default_transaction_read_only", "on");
  Connection two(endpoint());
  Connection three(endpoint());
  const int before = forgotten;
  EXPECT_FALSE(primary.add(two));
  EXPECT_FALSE(primary.add(three));
  EXPECT_EQ(forgotten, before + 1);
  EXPECT_TRUE(primary.has(one)) << "it was asked, and takes writes";
}

TEST_F(PostgresPrimary, AnAnswerFromBeforeADoubtDoesNotCount) {
  Connection session(endpoint());
  ASSERT_TRUE(primary.add(session));
  set(session, "test.waits", "on");
  EXPECT_TRUE(answer_of([&] { return primary.ask(session); }, [&] { primary.doubt(); }));
  EXPECT_EQ(session.server().generation, primary.generation());
  lead_to(kNew);
  Connection late(endpoint());
  set(late, "test.waits", "on");
  EXPECT_TRUE(answer_of([&] { return primary.add(late); }, [&] { primary.doubt(); }));
  EXPECT_EQ(late.server().generation, primary.generation());
}

// -- reads

TEST_F(PostgresPrimary, NoReadIsMadeOnTheOldServerOnceTheWritersUseTheNewOne) {
  SessionPool pool(endpoint(), 3, kCeiling, primary, nullptr);
  EXPECT_EQ(pool.use([&](Connection&) { return pool.use(server_of); }), kOld) << "two sessions";
  auto lane = start_lane();
  lead_to(kNew);
  auto written = lane->submit(
      {}, 0, [](Transaction& transaction) -> Result<std::string> { return server_of(transaction.connection()); });
  EXPECT_EQ(written.take().value(), kNew);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.use(server_of), kNew);
}

TEST_F(PostgresPrimary, ADatabaseThatCanOnlyBeReadIsRead) {
  SessionPool pool(endpoint(), 1, kCeiling, primary, nullptr);
  EXPECT_EQ(pool.use(server_of), kOld);
  set_default("default_transaction_read_only", "on");
  pool.use([](Connection& session) {
    make_read_only(session);
    return 0;
  });
  primary.doubt();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.use(server_of), kOld);
}

TEST_F(PostgresPrimary, ASessionThatIsLostWhenItIsAskedIsReplaced) {
  SessionPool pool(endpoint(), 1, kCeiling, primary, nullptr);
  const auto process = [](Connection& session) {
    return session.query("SELECT pg_backend_pid()::bigint").front().integer(0);
  };
  const auto before = pool.use(process);
  outside.query("SELECT pg_terminate_backend($1::bigint::int, 120000)", before);
  primary.doubt();
  EXPECT_NE(pool.use(process), before);
}

// -- writes

TEST_F(PostgresPrimary, AWriterFollowsToTheServerThatANewSessionFound) {
  auto lane = start_lane();
  const auto where = [](Transaction& transaction) -> Result<std::string> {
    return server_of(transaction.connection());
  };
  EXPECT_EQ(lane->submit({}, 0, where).take().value(), kOld);
  lead_to(kNew);
  EXPECT_EQ(lane->submit({}, 0, where).take().value(), kOld) << "its session works";
  Connection fresh(endpoint());
  ASSERT_TRUE(primary.add(fresh));
  EXPECT_EQ(lane->submit({}, 0, where).take().value(), kNew);
}

TEST_F(PostgresPrimary, AWriteThatIsRefusedByAReadOnlyServerPutsThePrimaryInDoubt) {
  auto lane = start_lane();
  const auto count_rows = [](Transaction& transaction) -> Result<std::int64_t> {
    return transaction.change("UPDATE commit_marks SET marked_at = now()");
  };
  auto last = lane->submit({}, 0, [&](Transaction& transaction) {
    make_read_only(transaction.connection());
    return count_rows(transaction);
  });
  ASSERT_TRUE(last.take());
  const int before = forgotten;
  EXPECT_TRUE(lane->submit({}, 0, count_rows).take());
  EXPECT_GT(forgotten, before);
}

// -- notifications

TEST_F(PostgresPrimary, TheListeningSessionMovesToTheNewServer) {
  Announcements announcements;
  CountingSubscriber subscriber;
  announcements.subscribe(&subscriber);
  {
    NotificationReader reader(endpoint(), Uuid::make(SystemClock().now()), read_cache, primary, &announcements,
                              nullptr);
    lead_to(kNew);
    Connection fresh(endpoint());
    ASSERT_TRUE(primary.add(fresh));
    EXPECT_TRUE(happens([&] { return subscriber.reconnections > 0; }));
    EXPECT_TRUE(primary.is_on(fresh)) << "the reader found the same server";
    const int before = subscriber.reconnections;
    const auto generation = primary.generation();
    primary.doubt();
    EXPECT_NE(primary.generation(), generation);
    // The cache is used again as soon as the session was asked.
    int reads = 0;
    const auto read = [&] {
      ++reads;
      return Result<DeliveryMode>(DeliveryMode::poll);
    };
    const auto workspace = WorkspaceId::make(SystemClock().now());
    EXPECT_TRUE(happens([&] {
      const int known = reads;
      (void)read_cache.find_delivery(workspace, read);
      return reads == known;
    }));
    EXPECT_EQ(subscriber.reconnections, before) << "in doubt the session is asked, not replaced";
  }
  announcements.subscribe(nullptr);
}

TEST_F(PostgresPrimary, NoNotificationsAreExpectedFromADatabaseThatCanOnlyBeRead) {
  set_default("default_transaction_read_only", "on");
  const auto begin = [&] {
    NotificationReader(endpoint(), Uuid::make(SystemClock().now()), read_cache, primary, nullptr, nullptr);
  };
  EXPECT_THAT(begin, ThrowsMessage<Lost>(HasSubstr("can only be read")));
}

}  // namespace
}  // namespace restante::testing
