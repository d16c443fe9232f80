#include "desk/idempotency.h"

#include <gtest/gtest.h>

#include <thread>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

const Digest kScope = sha256("scope");

TEST(Claims, AScopeIsHeldByOneRequestAtATime) {
  TestDesk desk;
  auto first = desk.claims.enter(kScope);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(desk.claims.enter(kScope).error().is(errors::idempotency_in_progress));
  EXPECT_TRUE(desk.claims.enter(sha256("another")).has_value());
  (*first)->release();
  EXPECT_TRUE(desk.claims.enter(kScope).has_value());
}

TEST(Claims, AHoldEndsWithTheLastOfItsOwners) {
  TestDesk desk;
  {
    const auto hold = desk.claims.enter(kScope).value();
    const auto copy = hold;
  }
  EXPECT_TRUE(desk.claims.enter(kScope).has_value());
}

TEST(Claims, AnOldHoldDoesNotFreeWhatAnotherHoldsNow) {
  TestDesk desk;
  auto old = desk.claims.enter(kScope).value();
  old->release();
  const auto now = desk.claims.enter(kScope).value();
  old->release();
  old.reset();
  EXPECT_TRUE(desk.claims.enter(kScope).error().is(errors::idempotency_in_progress));
}

TEST(Claims, AHoldMayOutliveTheDesk) {
  std::shared_ptr<Claims::Hold> hold;
  {
    TestDesk desk;
    hold = desk.claims.enter(kScope).value();
  }
  hold->release();
}

TEST(Claims, OfManyAtOnceOneEnters) {
  TestDesk desk;
  std::atomic<int> entered{0};
  std::vector<std::shared_ptr<Claims::Hold>> holds(16);
  {
    std::vector<std::jthread> threads;
    for (auto& hold : holds) {
      threads.emplace_back([&] {
        if (auto got = desk.claims.enter(kScope)) {
          hold = *got;
          ++entered;
        }
      });
    }
  }
  EXPECT_EQ(entered, 1);
}

TEST(Claims, WhatWasAnsweredIsFoundUntilItExpires) {
  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  const Claim claim{kScope, sha256("request"), kStart + std::chrono::hours(24)};
  EXPECT_EQ(desk.claims.find(claim).value(), std::nullopt);
  NewActivity row;
  row.activity_type = "agent_log";
  ASSERT_TRUE(
      desk.store->append_activity_once(workspace, row, claim, [](const Appended&) { return "kept"; }, kStart).take());
  EXPECT_EQ(desk.claims.find(claim).value(), "kept");
  Claim other = claim;
  other.request = sha256("another request");
  EXPECT_TRUE(desk.claims.find(other).error().is(errors::idempotency_mismatch));
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_EQ(desk.claims.find(claim).value(), std::nullopt);
}

}  // namespace
}  // namespace restante::desk
