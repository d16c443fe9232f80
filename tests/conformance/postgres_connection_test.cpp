// A session that fails: the reported reason, and what still works.
#include "store/postgres/connections/connection.h"

#include <gmock/gmock.h>

#include "postgres_server.h"

namespace restante::testing {
namespace {

using postgres::Connection;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

class PostgresSession : public ::testing::Test {
 protected:
  postgres::ConnectionOptions endpoint() const {
    postgres::ConnectionOptions patient;
    patient.url = database.url();
    patient.connect_timeout = patient.answer_timeout = patient.statement_timeout = std::chrono::minutes(2);
    return patient;
  }
  // Ends the session from another one; it has ended when this returns.
  void end_session() {
    const auto backend = session.query("SELECT pg_backend_pid()::bigint").front().integer(0);
    Connection(endpoint()).query("SELECT pg_terminate_backend($1::bigint::int, 120000)", backend);
  }

  PostgresDatabase database;
  Connection session{endpoint()};
};

TEST_F(PostgresSession, AnErrorOfTheServerIsReportedInOneLine) {
  EXPECT_THAT([&] { session.execute("DO $$ BEGIN RAISE E'  two\\n\\t lines '; END $$"); },
              ThrowsMessage<Unavailable>(StrEq("PostgreSQL: two lines (P0001)")));
  EXPECT_THAT([&] { session.execute("DO $$ BEGIN RAISE USING MESSAGE = ' '; END $$"); },
              ThrowsMessage<Unavailable>(StrEq("PostgreSQL:  (P0001)")));
}

TEST_F(PostgresSession, EmptyBytesAreNotNull) {
  for (const std::string_view bytes : {std::string_view(), std::string_view("")}) {
    const auto answer = session.query("SELECT $1 IS NULL, octet_length($1)::bigint", postgres::Bytes{bytes});
    EXPECT_FALSE(answer.front().boolean(0)) << "a view without data is empty, too";
    EXPECT_EQ(answer.front().integer(1), 0);
  }
}

TEST_F(PostgresSession, AnInvalidUrlIsRefusedWithAReason) {
  auto broken = endpoint();
  broken.url = "postgres://127.0.0.1/none?no_such_option=1";
  EXPECT_THROW(Connection{broken}, postgres::Lost);
}

TEST_F(PostgresSession, AFailedRollbackEndsTheSession) {
  session.query("BEGIN");
  end_session();
  session.rollback();
  EXPECT_TRUE(session.lost());
  EXPECT_FALSE(session.in_transaction());
  EXPECT_NO_THROW(session.rollback()) << "again";
}

TEST_F(PostgresSession, AReadOnlySessionCountsAsLost) {
  session.query("BEGIN READ ONLY");
  EXPECT_THROW(session.query("CREATE TABLE numbers (n bigint)"), postgres::Lost);
  EXPECT_TRUE(session.lost()) << "another server may have become the primary";
}

// Outside of a transaction a statement ends with its COMMIT, which may fail after the answer has arrived.
TEST_F(PostgresSession, AFailureAfterTheAnswerIsReported) {
  session.execute("CREATE TABLE numbers (n bigint)");
  session.execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'too late'; END $$; CREATE "
      "CONSTRAINT "
      "TRIGGER refuse AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()");
  EXPECT_THROW(session.query("INSERT INTO numbers (n) VALUES (1)"), postgres::Lost);
  EXPECT_TRUE(session.lost());
  EXPECT_TRUE(Connection(endpoint()).query("SELECT n FROM numbers").empty());
}

TEST_F(PostgresSession, AQueuedStatementThatFailsIsRolledBack) {
  session.query("BEGIN");
  session.send("SELECT nonsense");
  session.rollback();
  EXPECT_FALSE(session.in_transaction());
  EXPECT_EQ(session.query("SELECT 1::bigint").front().integer(0), 1);
}

TEST_F(PostgresSession, ASessionThatEndsWhileItListensIsLost) {
  session.query("LISTEN news");
  end_session();
  EXPECT_THROW(
      {
        for (;;) session.notifications(std::chrono::seconds(120), -1);
      },
      postgres::Lost);
  EXPECT_TRUE(session.lost());
}

}  // namespace
}  // namespace restante::testing
