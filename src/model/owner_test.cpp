#include "model/owner.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

OwnerMark some_mark() { return {InstallationId::make(SystemClock().now()), MarkId::make(SystemClock().now())}; }

TEST(Owner, AMarkIsReadAsItWasWritten) {
  const OwnerMark mark = some_mark();
  EXPECT_EQ(parse_owner_mark(text_of(mark)), mark);
}

TEST(Owner, APersonWhoOpensAMarkReadsWhatItIs) {
  const OwnerMark mark = some_mark();
  EXPECT_NE(text_of(mark).find("Restante"), std::string::npos);
  EXPECT_NE(text_of(mark).find(mark.installation.text()), std::string::npos);
}

TEST(Owner, AnythingElseOrAPartOfAMarkIsNoMark) {
  const std::string text = text_of(some_mark());
  for (const std::string& wrong : {std::string(), std::string("{}"), std::string("hello"), text.substr(0, 60),
                                   std::string(R"({"restante_post_office":"x","mark":"y"})"),
                                   std::string(R"({"restante_post_office":1,"mark":2})")}) {
    EXPECT_FALSE(parse_owner_mark(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace restante
