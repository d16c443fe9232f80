#include "server/secrets/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/test_folder.h"

namespace restante {
namespace {

class ServerKey : public testing::Test {
 protected:
  SealKey load() { return server_key("", data, log); }
  std::string failure() {
    try {
      load();
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }

  const TestFolder folder;
  const std::filesystem::path& data = folder.path();
  SystemClock clock;
  Log log{STDERR_FILENO, LogLevel::error, clock};
};

TEST_F(ServerKey, IsMadeOnceForItsOwnerOnly) {
  const SealKey made = load();
  EXPECT_EQ(load(), made);
  EXPECT_NE(made, SealKey{});
  struct stat info{};
  ASSERT_EQ(::stat((data / "server.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(info.st_size, 32);
}

TEST_F(ServerKey, ThatIsGivenIsTheSameOnEveryServerAndNeedsNoFile) {
  const std::string given = "q3vX0b-9ZsT7uLm2JkRcW8yHnEoPaGd4fI6x_1VwQtU";
  EXPECT_EQ(server_key(given, data, log), server_key(given, data / "nowhere", log));
  EXPECT_FALSE(std::filesystem::exists(data / "server.key"));
  EXPECT_NE(server_key(given, data, log), load());
}

TEST_F(ServerKey, OfTwoServersDiffers) {
  const SealKey first = load();
  std::filesystem::remove(data / "server.key");
  EXPECT_NE(load(), first);
}

TEST_F(ServerKey, ThatOthersCanReadIsRefused) {
  load();
  for (const mode_t mode : {0640, 0604, 0660}) {
    ASSERT_EQ(::chmod((data / "server.key").c_str(), mode), 0);
    EXPECT_NE(failure().find("readable by others"), std::string::npos) << mode;
  }
}

TEST_F(ServerKey, OfAnotherLengthIsRefused) {
  for (const std::size_t size : {0u, 31u, 33u}) {
    load();
    std::ofstream(data / "server.key", std::ios::trunc) << std::string(size, 'k');
    EXPECT_NE(failure().find("32 bytes"), std::string::npos) << size;
    std::filesystem::remove(data / "server.key");
  }
}

}  // namespace
}  // namespace restante
