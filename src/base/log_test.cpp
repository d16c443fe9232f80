#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <map>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/test_clock.h"

namespace restante {
namespace {

using namespace std::literals;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) { EXPECT_GE(fd, 0); }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// A file without a name.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("log", MFD_CLOEXEC)) {}
  int fd() const { return file_.get(); }
  std::vector<Json> lines() const {
    std::vector<Json> lines;
    std::string line;
    for (const char c : text()) {
      if (c != '\n') {
        line += c;
        continue;
      }
      const auto json = parse_json(line);
      EXPECT_TRUE(json) << line;
      if (json) lines.push_back(*json);
      line.clear();
    }
    EXPECT_EQ(line, "") << "the last line has no end";
    return lines;
  }
  std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(fd(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(fd(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  Descriptor file_;
};

std::string string_of(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  return value && value->if_string() ? *value->if_string() : "";
}

// Waits for the log's own thread, the only one that can make the condition true.
template <class Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

class LogTest : public testing::Test {
 protected:
  ManualClock clock_{*parse_time("2026-11-15T03:28:00.000007Z")};
};

TEST_F(LogTest, ALineIsOneJsonObjectWithTimeLevelEventAndFields) {
  const MemoryFile file;
  {
    Log log(file.fd(), LogLevel::debug, clock_);
    const std::string name = "report.pdf";
    log.info("upload_staged", {{"name", name}, {"size", std::int64_t{12}}, {"seconds", 0.5}, {"kind", "pdf"}});
    clock_.advance(1s);
    log.error("bad", {{"not_a_number", std::numeric_limits<double>::quiet_NaN()}});
  }
  EXPECT_EQ(
      file.text(),
      "{\"ts\":\"2026-11-15T03:28:00.000007Z\",\"level\":\"info\",\"event\":\"upload_staged\",\"name\":\"report.pdf\","
      "\"size\":12,\"seconds\":0.5,\"kind\":\"pdf\"}\n"
      "{\"ts\":\"2026-11-15T03:28:01.000007Z\",\"level\":\"error\",\"event\":\"bad\",\"not_a_number\":null}\n");
}

TEST_F(LogTest, HostileTextStaysOnItsLine) {
  const MemoryFile file;
  const auto hostile = "a\n{\"event\":\"forged\"}\r\n\x1b[31m\"\\\x7f\xFF\xC0\xAF"sv;
  {
    Log log(file.fd(), LogLevel::info, clock_);
    log.warn("upload", {{"filename", hostile}});
    log.warn(hostile, {{hostile, "x"}});
  }
  EXPECT_EQ(file.lines().size(), 2u);
  EXPECT_EQ(std::ranges::count(file.text(), '\n'), 2);
  for (const char c : file.text()) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_NE(c, '\x7f');
  }
}

TEST_F(LogTest, LevelsBelowTheLeastAreNotWritten) {
  const MemoryFile file;
  {
    Log log(file.fd(), LogLevel::warn, clock_);
    EXPECT_FALSE(log.wants(LogLevel::info));
    EXPECT_TRUE(log.wants(LogLevel::error));
    log.debug("no");
    log.info("no");
    log.warn("yes");
    log.error("yes");
  }
  const auto lines = file.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(string_of(lines[0], "level"), "warn");
  EXPECT_EQ(string_of(lines[1], "level"), "error");
}

TEST_F(LogTest, LinesOfManyThreadsNeverInterleaveAndKeepEachThreadsOrder) {
  constexpr std::int64_t kThreads = 8;
  constexpr std::int64_t kLines = 2000;
  const MemoryFile file;
  {
    Log log(file.fd(), LogLevel::info, clock_);
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&log, t] {
        for (std::int64_t i = 0; i < kLines; ++i) log.info("line", {{"thread", t}, {"i", i}, {"pad", "0123456789"}});
      });
    }
    threads.clear();
    EXPECT_EQ(log.lost(), 0u);
  }
  std::map<std::int64_t, std::int64_t> next;
  for (const Json& line : file.lines()) {
    ASSERT_EQ(line.find("i")->integer(), next[*line.find("thread")->integer()]++);
  }
  for (std::int64_t t = 0; t < kThreads; ++t) EXPECT_EQ(next[t], kLines);
}

TEST_F(LogTest, AFullDiskLosesLinesAndCountsThem) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Log log(full.get(), LogLevel::info, clock_);
  for (int i = 0; i < 100; ++i) log.info("line");
  until([&] { return log.lost() == 100; });
}

TEST_F(LogTest, AnInvalidDescriptorLosesLinesAndCountsThem) {
  Log log(-1, LogLevel::info, clock_);
  log.info("line");
  until([&] { return log.lost() == 1; });
}

TEST_F(LogTest, APipeWithoutAReaderDoesNotEndTheProcess) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Descriptor in(ends[0]);
  const Descriptor out(ends[1]);
  in.close();
  // The default at the start of a process: a write to such a pipe kills it.
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  {
    Log log(out.get(), LogLevel::info, clock_);
    log.info("line");
    until([&] { return log.lost() == 1; });
    log.info("line");
    until([&] { return log.lost() == 2; });
  }
  std::signal(SIGPIPE, before);
}

TEST_F(LogTest, LostLinesAreReportedOnceWithTheNextLineThatIsWritten) {
  const MemoryFile file;
  const Descriptor target(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  {
    Log log(target.get(), LogLevel::info, clock_);
    // Each line in a separate batch: a later failed batch must not forget the lines an earlier one lost.
    for (std::uint64_t i = 1; i <= 5; ++i) {
      log.info("lost");
      until([&] { return log.lost() == i; });
    }
    ASSERT_GE(::dup2(file.fd(), target.get()), 0);
    log.info("first");
    until([&] { return file.text().ends_with("\"first\"}\n"); });
    log.info("second");
  }
  const auto lines = file.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(string_of(lines[0], "event"), "log_lines_lost");
  EXPECT_EQ(lines[0].find("count")->integer(), 5);
  EXPECT_EQ(string_of(lines[1], "event"), "first");
  EXPECT_EQ(string_of(lines[2], "event"), "second");
}

TEST_F(LogTest, AfterALineThatWasCutTheNextStartsOnANewLine) {
  const MemoryFile file;
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  {
    Log log(file.fd(), LogLevel::info, clock_);
    log.info("whole");
    until([&] { return file.text().ends_with('\n'); });
    const struct rlimit tight{static_cast<rlim_t>(file.text().size()) + 10, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    log.info("cut");
    until([&] { return log.lost() == 1; });
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    log.info("after");
  }
  std::signal(SIGXFSZ, signal_before);
  std::vector<std::string> whole;
  std::string line;
  for (const char c : file.text()) {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (const auto json = parse_json(line)) whole.push_back(string_of(*json, "event"));
    line.clear();
  }
  EXPECT_EQ(whole, std::vector<std::string>({"whole", "log_lines_lost", "after"}));
}

// A pipe that is full, as when its reader hangs.
struct StuckPipe {
  explicit StuckPipe(int flags) {
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const std::string block(1 << 16, 'x');
    while (::write(ends[1], block.data(), block.size()) > 0) {
    }
    EXPECT_EQ(::fcntl(ends[1], F_SETFL, flags), 0);
  }
  ~StuckPipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2]{};
};

class StuckLog : public LogTest, public testing::WithParamInterface<int> {};

TEST_P(StuckLog, AReaderThatHangsLosesLinesButBlocksNeitherAWriterNorTheDestructor) {
  const StuckPipe pipe(GetParam());
  Log log(pipe.ends[1], LogLevel::info, clock_);
  const std::string pad(60'000, 'x');
  for (int i = 0; i < 200; ++i) log.info("line", {{"pad", pad}});
  EXPECT_GT(log.lost(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Pipes, StuckLog, testing::Values(0, O_NONBLOCK),
                         [](const auto& test) { return std::string(test.param == 0 ? "Blocking" : "NonBlocking"); });

TEST_F(LogTest, AfterAFlushTheLinesAreWrittenAndAReaderThatHangsDoesNotHoldIt) {
  const MemoryFile file;
  Log log(file.fd(), LogLevel::info, clock_);
  log.flush(2min);
  log.info("last");
  log.flush(2min);
  EXPECT_EQ(file.lines().size(), 1u);
  const StuckPipe pipe(0);
  Log stuck(pipe.ends[1], LogLevel::info, clock_);
  stuck.info("line");
  stuck.flush(1ms);
}

TEST_F(LogTest, ASlowReaderOfANonBlockingPipeGetsEveryLine) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  std::size_t newlines = 0;
  std::jthread reader;
  {
    Log log(out.get(), LogLevel::info, clock_);
    for (int i = 0; i < 10'000; ++i) log.info("line", {{"i", std::int64_t{i}}});
    EXPECT_EQ(log.lost(), 0u);
    reader = std::jthread([&] {
      char buffer[1000];
      for (ssize_t n = 1; n != 0;) {
        n = ::read(in.get(), buffer, sizeof buffer);
        for (ssize_t i = 0; i < n; ++i) newlines += buffer[i] == '\n';
      }
    });
  }
  out.close();
  reader.join();
  EXPECT_EQ(newlines, 10'000u);
}

}  // namespace
}  // namespace restante
