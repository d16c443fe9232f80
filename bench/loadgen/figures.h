// Figures: the results of a run, and the JSON line that reports them. All latencies are kept, not in buckets: a run has
// at most a few million of them. Cpu reads the kernel's CPU times of processes and of the whole machine.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace loadgen {

class Latencies {
 public:
  void add(double seconds) { values_.push_back(static_cast<float>(seconds)); }
  void add(const Latencies& other) { values_.insert(values_.end(), other.values_.begin(), other.values_.end()); }
  std::size_t count() const { return values_.size(); }
  // {"count":…,"p50_ms":…,"p90_ms":…,"p99_ms":…,"max_ms":…}
  std::string json();

 private:
  std::vector<float> values_;
};

// CPU seconds used so far.
struct Cpu {
  double servers = 0;  // user and system time of the given processes and their children, also of those that have ended
  double own = 0;      // of this process
  double machine = 0;  // of everything that runs here
  static Cpu read(const std::vector<pid_t>& servers);
  Cpu operator-(const Cpu& other) const;
};

// One line on stdout, at once: the caller reads it while this process goes on.
void report(const std::string& json);

}  // namespace loadgen
