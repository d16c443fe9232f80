#include "base/metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <type_traits>

#include <prometheus/text_serializer.h>

namespace restante {
namespace {

double count_open_files() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return 0;
  double count = -3;  // ".", ".." and the folder itself
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

double count_threads() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double value = 0;
    if (word == "Threads:" && status >> value) return value;
  }
  return 0;
}

}  // namespace

// From the fastest in-memory answer to the longest held poll.
const prometheus::Histogram::BucketBoundaries Metrics::kSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};

// From an agent that answers at once to one whose laptop was closed for days.
const prometheus::Histogram::BucketBoundaries Metrics::kTaskSeconds = {0.1,  1,     5,     15,    60,     300,   900,
                                                                       3600, 21600, 43200, 86400, 259200, 604800};

// From an agent that is polling to one that comes back just before its files expire; fine enough for percentiles.
const prometheus::Histogram::BucketBoundaries Metrics::kDeliverySeconds = {
    0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25,  0.35,  0.5,   0.75,   1,      1.5,    2.5,
    5,     10,   20,   30,    60,   120,   300, 600,  1'800, 3'600, 7'200, 21'600, 43'200, 86'400, 604'800};

template <class Metric>
Metric& Labelled<Metric>::find(std::vector<std::string> values) const {
  prometheus::Labels labels;
  for (std::size_t i = 0; i < labels_.size(); ++i) labels.emplace(labels_[i], std::move(values.at(i)));
  if constexpr (std::is_same_v<Metric, prometheus::Histogram>) {
    return family_.Add(labels, Metrics::kSeconds);
  } else {
    return family_.Add(labels);
  }
}

template class Labelled<prometheus::Counter>;
template class Labelled<prometheus::Gauge>;
template class Labelled<prometheus::Histogram>;

Labelled<prometheus::Counter> Metrics::counters(const char* name, const char* help, Texts labels, const Texts& known) {
  Labelled counters(prometheus::BuildCounter().Name(name).Help(help).Register(registry_), std::move(labels));
  for (const std::string& value : known) counters(value);
  return counters;
}

Labelled<prometheus::Gauge> Metrics::gauges(const char* name, const char* help, Texts labels, const Texts& known) {
  Labelled gauges(prometheus::BuildGauge().Name(name).Help(help).Register(registry_), std::move(labels));
  for (const std::string& value : known) gauges(value);
  return gauges;
}

Labelled<prometheus::Histogram> Metrics::histograms(const char* name, const char* help, Texts labels) {
  return {prometheus::BuildHistogram().Name(name).Help(help).Register(registry_), std::move(labels)};
}

prometheus::Histogram& Metrics::histogram(const char* name, const char* help,
                                          const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add({}, buckets);
}

Metrics::Metrics(const BuildInfo& build) {
  gauges("restante_build_info", "Always 1; the labels name the running build.", {"version", "commit", "compiler"})(
      build.version, build.commit, build.compiler)
      .Set(1);
  start_time_.Set(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
}

std::string Metrics::text() {
  std::ifstream statm("/proc/self/statm");
  double pages_virtual = 0;
  double pages_resident = 0;
  statm >> pages_virtual >> pages_resident;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  virtual_.Set(pages_virtual * page);
  resident_.Set(pages_resident * page);
  open_files_.Set(count_open_files());
  threads_.Set(count_threads());
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  max_files_.Set(static_cast<double>(files.rlim_cur));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  if (cpu > cpu_seconds_.Value()) cpu_seconds_.Increment(cpu - cpu_seconds_.Value());

  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, registry_.Collect());
  return out.str();
}

}  // namespace restante
