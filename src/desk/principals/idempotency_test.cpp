#include "desk/principals/idempotency.h"

#include <gtest/gtest.h>

#include <thread>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

const Digest kScope = sha256("scope");

TEST(IdempotencyLocks, AScopeIsHeldByOneRequestAtATime) {
  TestDesk desk;
  auto first = desk.idempotency_locks.enter(kScope);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(desk.idempotency_locks.enter(kScope).error().is(errors::idempotency_in_progress));
  EXPECT_TRUE(desk.idempotency_locks.enter(sha256("another")).has_value());
  (*first)->release();
  EXPECT_TRUE(desk.idempotency_locks.enter(kScope).has_value());
}

TEST(IdempotencyLocks, ALockEndsWithTheLastOfItsOwners) {
  TestDesk desk;
  {
    const auto lock = desk.idempotency_locks.enter(kScope).value();
    const auto copy = lock;
  }
  EXPECT_TRUE(desk.idempotency_locks.enter(kScope).has_value());
}

TEST(IdempotencyLocks, AnOldLockDoesNotReleaseANewOne) {
  TestDesk desk;
  auto old = desk.idempotency_locks.enter(kScope).value();
  old->release();
  const auto now = desk.idempotency_locks.enter(kScope).value();
  old->release();
  old.reset();
  EXPECT_TRUE(desk.idempotency_locks.enter(kScope).error().is(errors::idempotency_in_progress));
}

TEST(IdempotencyLocks, ALockMayOutliveTheDesk) {
  std::shared_ptr<IdempotencyLocks::IdempotencyLock> lock;
  {
    TestDesk desk;
    lock = desk.idempotency_locks.enter(kScope).value();
  }
  lock->release();
}

TEST(IdempotencyLocks, OfManyAtOnceOneEnters) {
  TestDesk desk;
  std::atomic<int> entered{0};
  std::vector<std::shared_ptr<IdempotencyLocks::IdempotencyLock>> holds(16);
  {
    std::vector<std::jthread> threads;
    for (auto& lock : holds) {
      threads.emplace_back([&] {
        if (auto got = desk.idempotency_locks.enter(kScope)) {
          lock = *got;
          ++entered;
        }
      });
    }
  }
  EXPECT_EQ(entered, 1);
}

TEST(IdempotencyLocks, AnAnswerIsFoundUntilItExpires) {
  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  const Claim claim{kScope, sha256("request"), kStart + std::chrono::hours(24)};
  EXPECT_EQ(desk.idempotency_locks.find(claim).value(), std::nullopt);
  NewInboxRow row;
  row.activity_type = "agent_log";
  const ClaimedAnswer<Appended> once{claim, [](const Appended&) { return "kept"; }};
  ASSERT_TRUE(desk.store->append_to_inbox(workspace, row, kStart, once).take());
  EXPECT_EQ(desk.idempotency_locks.find(claim).value(), "kept");
  Claim other = claim;
  other.request = sha256("another request");
  EXPECT_TRUE(desk.idempotency_locks.find(other).error().is(errors::idempotency_mismatch));
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_EQ(desk.idempotency_locks.find(claim).value(), std::nullopt);
}

}  // namespace
}  // namespace restante::desk
