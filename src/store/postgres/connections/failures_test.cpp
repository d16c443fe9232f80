#include "store/postgres/connections/failures.h"

#include <gtest/gtest.h>

namespace restante::postgres {
namespace {

template <class Failure>
void expect(std::initializer_list<std::string_view> sqlstates) {
  for (const auto sqlstate : sqlstates) EXPECT_THROW(raise(sqlstate, "the message"), Failure) << sqlstate;
}

TEST(Failures, OfASessionThatHasEndedAreLost) {
  expect<Lost>({"", "08006", "08P01", "57P01", "57P02", "57P03", "57P05", "25P03", "25006"});
}

TEST(Failures, OfTransactionsThatLostARaceAreConflicts) { expect<Conflict>({"40001", "40P01", "55P03"}); }

TEST(Failures, OfKeysAndOfOtherConstraintsHaveDifferentTypes) {
  expect<KeyTaken>({"23505"});
  expect<ConstraintFailed>({"23502", "23503", "23514"});
}

TEST(Failures, ThatEndWhenTheServerWorksAgainAreUnavailable) {
  expect<StorageFull>({"53100"});
  expect<Unavailable>({"53300", "57014", "58030", "XX000", "42P01", "42703", "42883", "3F000", "42501"});
  EXPECT_THROW(raise("57014", "x"), Unavailable);
  try {
    raise("57014", "x");
  } catch (const Lost&) {
    ADD_FAILURE() << "the session lives";
  } catch (const Unavailable& failed) {
    EXPECT_STREQ(failed.what(), "PostgreSQL: x (57014)");
  }
}

TEST(Failures, OfStatementsOfOursAreBugs) { expect<std::logic_error>({"42601", "22P02"}); }

TEST(Failures, OfSharedSessionsNameTheNeededPoolMode) {
  for (const auto* sqlstate : {"42P05", "26000"}) {
    try {
      raise(sqlstate, "x");
    } catch (const Unavailable& failed) {
      EXPECT_NE(std::string(failed.what()).find("pool_mode = session"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace restante::postgres
