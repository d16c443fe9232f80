// A pool whose database allows fewer sessions than the pool may open, and values in both directions.
#include "store/postgres/connections/session_pool.h"

#include <gmock/gmock.h>

#include <functional>
#include <future>
#include <thread>

#include "postgres_server.h"

namespace restante::testing {
namespace {

using namespace std::chrono_literals;
using postgres::Array;
using postgres::Connection;
using postgres::SessionPool;
using postgres::Type;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class PostgresPool : public ::testing::Test {
 protected:
  static postgres::ConnectionOptions endpoint(const PostgresDatabase& to) {
    postgres::ConnectionOptions made;
    made.url = to.url();
    made.connect_timeout = made.statement_timeout = made.answer_timeout = 2min;
    return made;
  }
  static std::int64_t ask(Connection& connection) { return connection.query("SELECT 42::bigint").front().integer(0); }

  PostgresDatabase database;
  PostgresDatabase other;
  Connection outside{endpoint(database)};
  postgres::Primary primary{[] {}};
};

TEST_F(PostgresPool, WhenNoFurtherSessionCanBeOpenedAReadWaitsForAnOpenOne) {
  Connection admin(endpoint(other));
  const auto name = outside.query("SELECT current_database()").front().text(0);
  SessionPool hasty(endpoint(database), 2, 500ms, primary, nullptr);
  SessionPool patient(endpoint(database), 2, 2min, primary, nullptr);
  std::thread waiting;
  std::int64_t answer = 0;
  hasty.use([&](Connection&) {
    patient.use([&](Connection& first) {
      admin.query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
      EXPECT_THAT([&] { hasty.use(ask); }, ThrowsMessage<Unavailable>(HasSubstr("not currently accepting")));
      waiting = std::thread([&] { answer = patient.use(ask); });
      return ask(first);
    });
    return 0;
  });
  waiting.join();
  EXPECT_EQ(answer, 42) << "it got the session that was returned";
  admin.query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true");
}

TEST_F(PostgresPool, IdleSessionsAsOldAsALostOneAreNotTriedOneByOne) {
  SessionPool pool(endpoint(database), 3, 2min, primary, nullptr);
  pool.use([&](Connection&) { return pool.use([&](Connection&) { return pool.use(ask); }); });
  outside.query(
      "SELECT pg_terminate_backend(pid, 120000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  int calls = 0;
  const auto answer = pool.use([&](Connection& connection) {
    ++calls;
    return ask(connection);
  });
  EXPECT_EQ(answer, 42);
  EXPECT_LE(calls, 2) << "1 if the lost one was asked before it was lent";
}

TEST_F(PostgresPool, WhenSessionsAreScarceOneIsLeftToWritersAndOneStays) {
  SessionPool pool(endpoint(database), 3, 2min, primary, nullptr);
  const auto sessions = [&] {
    return outside
        .query("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1",
               outside.query("SELECT pg_backend_pid()::bigint").front().integer(0))
        .front()
        .integer(0);
  };
  const auto becomes = [&](std::int64_t count) {
    const auto end = std::chrono::steady_clock::now() + 2min;
    while (sessions() != count && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(sessions(), count);
  };
  pool.make_room();  // the pool has no session
  pool.use([&](Connection&) {
    pool.use([&](Connection&) {
      return pool.use([&](Connection&) {
        pool.make_room();  // all are lent out: the first one returned is closed
        return 0;
      });
    });
    return 0;
  });
  becomes(2);
  pool.make_room();
  becomes(1);
  pool.make_room();
  EXPECT_EQ(pool.use(ask), 42);
  becomes(1);
}

TEST_F(PostgresPool, ASessionThatIsBeingOpenedIsNotTheOneThatStays) {
  Connection admin(endpoint(other));
  const auto name = outside.query("SELECT current_database()").front().text(0);
  std::promise<void> refused;
  std::promise<void> returned;
  std::function<void()> make_room;
  auto options = endpoint(database);
  options.on_no_session = [&] {
    refused.set_value();
    returned.get_future().wait();
    make_room();
  };
  SessionPool pool(options, 2, 2min, primary, nullptr);
  make_room = [&] { pool.make_room(); };
  std::future<std::int64_t> second;
  pool.use([&](Connection&) {
    admin.query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
    second = std::async(std::launch::async, [&] { return pool.use(ask); });
    refused.get_future().wait();
    return 0;
  });
  returned.set_value();
  EXPECT_EQ(second.get(), 42) << "by the session that was there";
  admin.query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true");
}

TEST_F(PostgresPool, ValuesOfEveryTypeComeBackAsTheyWere) {
  const auto row = outside.query("SELECT $1, $2, $3::bytea, $4::text IS NULL", true, 0.5,
                                 postgres::Bytes{std::string_view("\0\xff", 2)}, std::optional<std::string_view>());
  EXPECT_TRUE(row.front().boolean(0));
  EXPECT_EQ(row.front().real(1), 0.5);
  EXPECT_EQ(row.front().view(2), std::string_view("\0\xff", 2));
  EXPECT_TRUE(row.front().boolean(3));
  const std::string large(16 << 20, 'x');  // more than a socket buffer takes
  EXPECT_EQ(outside.query("SELECT length($1::text)::bigint", large).front().integer(0), std::ssize(large));
  EXPECT_EQ(outside.query("SELECT cardinality($1)::bigint", Array(Type::float8)).front().integer(0), 0);
  EXPECT_THROW((void)Array(Type::any).type(), std::logic_error);
}

}  // namespace
}  // namespace restante::testing
