#include "mcp/attachments.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/test_folder.h"

namespace restante::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Attachments : public testing::Test {
 protected:
  Attachments() {
    for (const char* name : {"project/sub", "more", "other", "project/state"}) fs::create_directories(folder_ / name);
    for (const char* name : {"project/a.txt", "project/sub/b.txt", "more/c.txt", "other/d.txt", "project/state/token"})
      TestFolder::write(folder_ / name, "x");
    rules_.allowed = {(folder_ / "project").string(), (folder_ / "more").string()};
    rules_.secret = {(folder_ / "project/state").string(), (folder_ / "project/state/token").string()};
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  bool may_send(const std::string& name) const { return check_attachments(rules_, {path(name)}).has_value(); }
  std::string refusal(const std::string& name) const {
    return check_attachments(rules_, {path(name)}).error().sentence;
  }

  TestFolder folder_;
  AttachmentRules rules_;
};

TEST_F(Attachments, FilesInTheAllowedFoldersAreSentUnderTheirRealPaths) {
  const auto real = check_attachments(rules_, {path("project/a.txt"), path("project/../more/./c.txt")});
  EXPECT_THAT(real.value(), ElementsAre(fs::canonical(folder_ / "project/a.txt").string(),
                                        fs::canonical(folder_ / "more/c.txt").string()));
  EXPECT_TRUE(may_send("project/sub/b.txt"));
  EXPECT_TRUE(check_attachments(rules_, {}).value().empty());
}

TEST_F(Attachments, AFileAnywhereElseIsRefusedWithASentenceAndOneRefusalIsEnough) {
  EXPECT_THAT(refusal("other/d.txt"), testing::AllOf(HasSubstr(path("other/d.txt")), HasSubstr(path("project")),
                                                     HasSubstr(path("more")), HasSubstr("--allow")));
  EXPECT_FALSE(may_send("project/../other/d.txt"));
  EXPECT_FALSE(may_send("project-of-another"));
  EXPECT_TRUE(check_attachments(rules_, {path("project/a.txt"), "/etc/passwd"}).has_error());
}

TEST_F(Attachments, WhetherAFileExistsElsewhereIsNotRevealed) {
  const auto without_path = [this](const std::string& name) {
    auto sentence = refusal(name);
    return sentence.replace(sentence.find(path(name)), path(name).size(), "");
  };
  EXPECT_EQ(without_path("other/d.txt"), without_path("other/missing.txt"));
  EXPECT_TRUE(may_send("project/missing.txt")) << "the upload reports it";
}

TEST_F(Attachments, ALinkIsFollowedInsideAndNeverOut) {
  fs::create_symlink(folder_ / "other", folder_ / "project/out");
  fs::create_symlink(folder_ / "other/d.txt", folder_ / "project/d.txt");
  fs::create_symlink(folder_ / "other/missing.txt", folder_ / "project/dangling.txt");
  fs::create_symlink(folder_ / "project/a.txt", folder_ / "project/link.txt");
  for (const char* name : {"project/out/d.txt", "project/d.txt", "project/dangling.txt", "project/out/missing.txt"})
    EXPECT_FALSE(may_send(name)) << name;
  EXPECT_TRUE(may_send("project/link.txt"));
}

TEST_F(Attachments, TheAgentsOwnStateIsNeverSentAlsoWhenItsFolderIsAllowed) {
  fs::create_symlink(folder_ / "project/state", folder_ / "more/s");
  fs::create_hard_link(folder_ / "project/state/token", folder_ / "more/notes.txt");
  TestFolder::write(folder_ / "project/state/journal", "x");
  for (const char* name : {"project/state/token", "project/state/journal", "project/state/x/y", "more/s/token",
                           "more/notes.txt", "project/state"})
    EXPECT_THAT(refusal(name), HasSubstr("its token")) << name;
  rules_.allowed = {"/"};
  EXPECT_THAT(refusal("project/state/token"), HasSubstr("its token"));
  EXPECT_TRUE(may_send("other/d.txt"));
}

}  // namespace
}  // namespace restante::mcp
