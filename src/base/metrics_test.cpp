#include "base/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"

namespace restante {
namespace {

const BuildInfo kBuild{"1.2.3", "abcdef", "a \"compiler\"\n"};

// The value of one series, by its name and labels as they are written.
double value_of(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  }
  ADD_FAILURE() << "no series " << series;
  return -1;
}

TEST(Metrics, CountedValuesAreInTheText) {
  Metrics metrics(kBuild);
  metrics.uploads_staged.Increment();
  metrics.uploads_staged_bytes.Increment(4096);
  metrics.held_polls.Increment();
  metrics.http_responses("2xx").Increment();
  metrics.connections(1).Set(7);
  metrics.requests(0).Increment(3);
  metrics.refused("malformed").Increment();
  metrics.http_duration("GET", "/workspaces/:id").Observe(0.003);
  metrics.wake_latency.Observe(0.0002);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, "restante_uploads_staged_total"), 1);
  EXPECT_EQ(value_of(text, "restante_uploads_staged_bytes_total"), 4096);
  EXPECT_EQ(value_of(text, "restante_held_polls"), 1);
  EXPECT_EQ(value_of(text, "restante_http_responses_total{class=\"2xx\"}"), 1);
  EXPECT_EQ(value_of(text, "restante_connections{thread=\"1\"}"), 7);
  EXPECT_EQ(value_of(text, "restante_io_thread_requests_total{thread=\"0\"}"), 3);
  EXPECT_EQ(value_of(text, "restante_requests_refused_total{reason=\"malformed\"}"), 1);
  EXPECT_EQ(value_of(text, "restante_wake_latency_seconds_count"), 1);
  const std::string route = "{method=\"GET\",route=\"/workspaces/:id\"";
  EXPECT_EQ(value_of(text, "restante_http_request_duration_seconds_count" + route + "}"), 1);
  EXPECT_EQ(value_of(text, "restante_http_request_duration_seconds_bucket" + route + ",le=\"0.0025\"}"), 0);
  EXPECT_EQ(value_of(text, "restante_http_request_duration_seconds_bucket" + route + ",le=\"0.005\"}"), 1);
}

TEST(Metrics, TheSameLabelsAreTheSameSeries) {
  Metrics metrics(kBuild);
  EXPECT_EQ(&metrics.http_responses("4xx"), &metrics.http_responses("4xx"));
  EXPECT_NE(&metrics.http_responses("4xx"), &metrics.http_responses("5xx"));
  EXPECT_EQ(&metrics.http_duration("GET", "/health"), &metrics.http_duration("GET", "/health"));
  EXPECT_NE(&metrics.http_duration("GET", "/health"), &metrics.http_duration("POST", "/health"));
}

TEST(Metrics, OutcomesOfTheSweepExistFromTheStart) {
  const std::string text = Metrics(kBuild).text();
  for (const char* outcome : {"acked", "expired", "error"})
    EXPECT_EQ(value_of(text, "restante_pending_uploads_swept_total{outcome=\"" + std::string(outcome) + "\"}"), 0);
}

TEST(Metrics, EveryFamilyHasHelpAndTypeAndANameOfItsKind) {
  Metrics metrics(kBuild);
  metrics.http_responses("2xx").Increment();
  const std::string text = metrics.text();
  EXPECT_TRUE(text.ends_with('\n'));
  std::map<std::string, std::string> type_of;
  std::set<std::string> helped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto words = split(line, ' ');
    if (line.starts_with("# HELP ")) {
      EXPECT_TRUE(helped.emplace(words[2]).second) << line;
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(type_of.emplace(words[2], words[3]).second) << line;
    } else {
      std::string name(words[0].substr(0, words[0].find('{')));
      for (const char* suffix : {"_bucket", "_sum", "_count"}) {
        if (!type_of.contains(name) && name.ends_with(suffix)) name.resize(name.size() - std::strlen(suffix));
      }
      EXPECT_TRUE(type_of.contains(name) && helped.contains(name)) << line;
      EXPECT_EQ(type_of[name] == "counter", name.ends_with("_total")) << line;
      EXPECT_TRUE(name.starts_with("restante_") || name.starts_with("process_")) << line;
    }
  }
  EXPECT_GT(type_of.size(), 15u);
  EXPECT_NE(
      text.find("restante_build_info{commit=\"abcdef\",compiler=\"a \\\"compiler\\\"\\n\",version=\"1.2.3\"} 1\n"),
      std::string::npos);
}

TEST(Metrics, TheProcessIsMeasuredForEachText) {
  Metrics metrics(kBuild);
  const double before = value_of(metrics.text(), "process_open_fds");
  const int fd = ::dup(1);
  EXPECT_EQ(value_of(metrics.text(), "process_open_fds"), before + 1);
  ::close(fd);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, "process_open_fds"), before);
  EXPECT_GE(value_of(text, "process_threads"), 1);
  EXPECT_GT(value_of(text, "process_resident_memory_bytes"), 100'000);
  EXPECT_GE(value_of(text, "process_virtual_memory_bytes"), value_of(text, "process_resident_memory_bytes"));
  EXPECT_GT(value_of(text, "process_start_time_seconds"), 1.7e9);
  struct rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(value_of(text, "process_max_fds"), static_cast<double>(files.rlim_cur));
}

}  // namespace
}  // namespace restante
