// Servers that share a database and cache its answers: a change by one of them must invalidate the caches of all.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "backends.h"
#include "model/errors.h"
#include "postgres_server.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/store.h"

namespace restante::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kCeiling = 2min;

bool happens(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kCeiling;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class PostgresServers : public ::testing::Test {
 protected:
  PostgresServers() : one(open()), other(open()) {
    NewWorkspace wanted;
    wanted.name = "agent";
    workspace = one->create_workspace(wanted, at(0)).take().value().id;
  }

  std::unique_ptr<Store> open() const { return postgres::open(database.url(), patient_options()); }
  TokenId add_token() {
    return one->add_token({TokenKind::workspace, workspace, hash, "prefix", "label", {}}, at(0)).take().value().id;
  }
  InboxQuery behind(std::int64_t seq) {
    InboxQuery query;
    query.since_seq = seq;
    return query;
  }

  PostgresDatabase database{PostgresDatabase::Schema::complete};
  std::unique_ptr<Store> one;
  std::unique_ptr<Store> other;
  WorkspaceId workspace;
  const Digest hash = sha256("secret");
};

TEST_F(PostgresServers, ATokenThatOneRevokesIsRevokedForAll) {
  const TokenId id = add_token();
  ASSERT_TRUE(other->find_token(hash));
  ASSERT_TRUE(one->revoke_token(id, at(1)).take().value());
  EXPECT_EQ(one->find_token(hash)->revoked_at, at(1)) << "the server that did it sees it at once";
  EXPECT_TRUE(happens([&] { return other->find_token(hash)->revoked_at.has_value(); }));
}

TEST_F(PostgresServers, AWorkspaceThatOneRemovesIsRemovedForAll) {
  add_token();
  ASSERT_TRUE(other->find_delivery(workspace));
  ASSERT_TRUE(other->find_token(hash));
  ASSERT_TRUE(one->remove_workspace(workspace, at(1)).take());
  EXPECT_ERROR(one->find_delivery(workspace), errors::workspace_removed);
  EXPECT_TRUE(happens([&] { return other->find_delivery(workspace).has_error(); }));
  EXPECT_TRUE(happens([&] { return other->find_token(hash)->revoked_at.has_value(); }));
}

TEST_F(PostgresServers, ARowThatOneAppendsIsFoundByAllThatCachedAnEmptyPage) {
  const auto first = one->append_to_inbox(workspace, message("first"), at(0)).take().value();
  ASSERT_TRUE(other->read_inbox(workspace, behind(first.seq)).value().empty());
  ASSERT_TRUE(one->read_inbox(workspace, behind(first.seq)).value().empty());
  ASSERT_TRUE(one->append_to_inbox(workspace, message("second"), at(1)).take());
  EXPECT_EQ(one->read_inbox(workspace, behind(first.seq)).value().size(), 1u)
      << "the server that did it sees it at once";
  EXPECT_TRUE(happens([&] { return !other->read_inbox(workspace, behind(first.seq)).value().empty(); }));
}

TEST_F(PostgresServers, ACursorThatOnePrunesIsRefusedByAll) {
  const auto row = one->append_to_inbox(workspace, message("old"), at(0)).take().value();
  ASSERT_TRUE(other->read_inbox(workspace, behind(row.seq)).value().empty());
  ASSERT_TRUE(one->read_inbox(workspace, behind(row.seq)).value().empty());
  ASSERT_EQ(one->prune(at(1'000), at(1'000), at(1'000), 100).take()->rows, 1);
  EXPECT_ERROR(one->read_inbox(workspace, behind(row.seq)), errors::cursor_gone);
  EXPECT_TRUE(happens([&] { return other->read_inbox(workspace, behind(row.seq)).has_error(); }));
}

TEST_F(PostgresServers, AfterMissedNotificationsTheCacheIsNotUsed) {
  const TokenId id = add_token();
  ASSERT_TRUE(other->find_token(hash));
  postgres::ConnectionOptions endpoint;
  endpoint.url = database.url();
  endpoint.connect_timeout = endpoint.statement_timeout = endpoint.answer_timeout = kCeiling;
  postgres::Connection operator_(endpoint);
  // As if its notification had been lost together with the listening sessions.
  operator_.query("UPDATE tokens SET revoked_at = now() WHERE id = $1", id);
  operator_.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name "
      "= "
      "'restante listener'");
  EXPECT_TRUE(happens([&] { return other->find_token(hash)->revoked_at.has_value(); }));
  EXPECT_TRUE(happens([&] { return one->find_token(hash)->revoked_at.has_value(); }));
}

}  // namespace
}  // namespace restante::testing
