#include "base/names.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

enum class Colour { red, green, blue };
constexpr Names<Colour, Colour::blue> kColours{"red", "green", "blue"};

TEST(Names, EveryValueHasItsNameAndEveryNameItsValue) {
  for (const auto colour : {Colour::red, Colour::green, Colour::blue})
    EXPECT_EQ(kColours.parse(kColours.of(colour)), colour);
  EXPECT_EQ(kColours.of(Colour::green), "green");
}

TEST(Names, ATextThatIsNoNameHasNoValue) {
  for (const auto* text : {"", "Red", "gree", "greens"}) EXPECT_EQ(kColours.parse(text), std::nullopt) << text;
}

}  // namespace
}  // namespace restante
