#include "model/principal.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

TEST(Principal, ASessionCountsAgainstTheLimitsOfTheTokenThatOpenedIt) {
  const TokenId link = TokenId::make(Time());
  Principal person{Principal::Role::sender, WorkspaceId::make(Time()), link, false};
  EXPECT_EQ(person.limit_owner(), link.text());
  for (int i = 0; i < 2; ++i) {
    Principal session = person;
    session.token_id = TokenId::make(Time());
    session.opened_by = link;
    session.by_session = true;
    EXPECT_EQ(session.limit_owner(), link.text());
  }
}

TEST(Principal, TheOperatorAndHisSessionsHaveOneLimit) {
  Principal operator_{Principal::Role::admin, {}, {}, false};
  EXPECT_EQ(operator_.limit_owner(), "admin");
  operator_.token_id = TokenId::make(Time());
  operator_.by_session = true;
  EXPECT_EQ(operator_.limit_owner(), "admin");
}

}  // namespace
}  // namespace restante
