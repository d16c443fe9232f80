#include "model/workspace_rules.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

TEST(WorkspaceRules, ARemoteUrlIsNoCallback) {
  for (const char* none : {"", "remote://laptop", "remote:", "REMOTE://x"}) EXPECT_EQ(callback_url(none), "") << none;
  for (const char* url : {"https://x.example/", "remotes://x", "http://remote:80/", "remote"}) {
    EXPECT_EQ(callback_url(url), url);
  }
}

TEST(WorkspaceRules, ANameHasAtMostAHundredCharactersAndNoControls) {
  EXPECT_EQ(tidy_name("laptop"), "laptop");
  EXPECT_EQ(tidy_name("a\tb\nc\x1b[0m\x7f"), "abc[0m");
  EXPECT_EQ(tidy_name("a\xc2\x85"
                      "b\xc2\xa0"
                      "c"),
            "ab\xc2\xa0"
            "c")
      << "U+0085 is a control, U+00A0 is not";
  EXPECT_EQ(tidy_name("\r\n"), "");
  std::string long_name;
  for (int i = 0; i < 150; ++i) long_name += "\xc3\xbc";
  EXPECT_EQ(tidy_name(long_name), long_name.substr(0, 200)) << "characters, not bytes";
  EXPECT_EQ(tidy_name("\n" + std::string(101, 'x')), std::string(100, 'x'));
}

TEST(WorkspaceRules, ASearchFindsNamesAndRolesInAnyLetterCase) {
  Workspace workspace;
  workspace.name = "Ada's laptop";
  workspace.role = "reviewer";
  for (const char* text : {"", "ada", "LAPTOP", "view"}) EXPECT_TRUE(matches(workspace, text)) << text;
  for (const char* text : {"laptops", "ada reviewer"}) EXPECT_FALSE(matches(workspace, text)) << text;
}

TEST(WorkspaceRules, ARegistrationWithoutAModeKeepsTheModeThatWasSet) {
  CheckedRegistration registration;
  Workspace known;
  known.delivery_mode = DeliveryMode::poll;
  registration.url = "https://x.example/";
  EXPECT_EQ(delivery_after(registration, &known)->mode, DeliveryMode::poll);
  EXPECT_EQ(delivery_after(registration, nullptr)->mode, DeliveryMode::push) << "a new workspace";
  known.mode_is_set = false;
  EXPECT_EQ(delivery_after(registration, &known)->mode, DeliveryMode::push) << "one whose mode was never set";
  registration.url.clear();
  EXPECT_EQ(delivery_after(registration, &known)->mode, DeliveryMode::poll);
  known.mode_is_set = true;
  known.delivery_mode = DeliveryMode::push;
  EXPECT_FALSE(delivery_after(registration, &known)) << "push without a url";
  known.url = "https://stored.example/";
  EXPECT_EQ(delivery_after(registration, &known)->url, known.url);
}

}  // namespace
}  // namespace restante
