#include "server/secrets/admin_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/test_folder.h"
#include "server/secrets/secret_file.h"

namespace restante {
namespace {

class AdminToken : public testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(data), {}));
  }

  const TestFolder folder;
  const std::filesystem::path& data = folder.path();
  SystemClock clock;
  Log log{STDERR_FILENO, LogLevel::error, clock};
};

TEST_F(AdminToken, IsMadeOnceAndReadAgain) {
  const std::string made = admin_token("", data, log);
  EXPECT_EQ(admin_token("", data, log), made);
  EXPECT_EQ(admin_token("given", data, log), "given");
  EXPECT_EQ(files(), 1u) << "no temporary file is left";
}

TEST_F(AdminToken, IsTheSameForServersThatStartAtOnce) {
  std::vector<std::string> made(8);
  {
    std::vector<std::jthread> servers;
    for (auto& one : made) servers.emplace_back([&] { one = admin_token("", data, log); });
  }
  EXPECT_EQ(made, std::vector<std::string>(8, made[0]));
  EXPECT_EQ(files(), 1u);
}

TEST_F(AdminToken, ThatWasReplacedIsFoundByTheNextRead) {
  AdminTokenFile file(data);
  EXPECT_FALSE(file.current_digest()) << "there is none yet";
  const std::string first = admin_token("", data, log);
  EXPECT_EQ(file.current_digest(), sha256(first));
  EXPECT_EQ(file.current_digest(), sha256(first));
  const std::string second = replace_admin_token(data, log);
  EXPECT_NE(second, first);
  EXPECT_EQ(file.current_digest(), sha256(second));
}

TEST_F(AdminToken, ThatCannotBeReadGivesNothing) {
  admin_token("", data, log);
  AdminTokenFile file(data);
  ASSERT_EQ(::chmod((data / "admin.token").c_str(), 0644), 0);
  EXPECT_FALSE(file.current_digest());
  ASSERT_EQ(::chmod((data / "admin.token").c_str(), 0600), 0);
  EXPECT_TRUE(file.current_digest());
  std::ofstream(data / "admin.token", std::ios::trunc) << "no token";
  EXPECT_FALSE(file.current_digest());
}

TEST_F(AdminToken, ThatCannotBeWrittenKeepsTheOldOneAndLeavesNoTemporaryFile) {
  const std::filesystem::path folder = data / "folder";
  std::filesystem::create_directories(folder / "admin.token" / "occupied");
  EXPECT_THROW(replace_admin_token(folder, log), Unavailable);
  EXPECT_THROW(create_secret_file(data / "nowhere" / "file", "x"), std::runtime_error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace restante
