#include "loadgen/figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace loadgen {
namespace {

double ticks_to_seconds(double ticks) { return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// With its running and ended children; nothing for a process that has ended.
std::optional<double> process_seconds(pid_t pid) {
  const std::string text = text_of(fmt::format("/proc/{}/stat", pid));
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  double ended_user = 0;
  double ended_system = 0;
  fields >> user >> system >> ended_user >> ended_system;
  double total = ticks_to_seconds(user + system + ended_user + ended_system);
  std::istringstream children(text_of(fmt::format("/proc/{0}/task/{0}/children", pid)));
  for (pid_t child = 0; children >> child;) total += process_seconds(child).value_or(0);
  return total;
}

double machine_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double io_wait = 0;
  double interrupts = 0;
  double soft_interrupts = 0;
  file >> name >> user >> nice >> system >> idle >> io_wait >> interrupts >> soft_interrupts;
  return ticks_to_seconds(user + nice + system + interrupts + soft_interrupts);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::string Latencies::json() {
  std::sort(values_.begin(), values_.end());
  const auto at = [this](double share) {
    if (values_.empty()) return 0.0;
    const auto index = static_cast<std::size_t>(share * static_cast<double>(values_.size()));
    return 1000.0 * static_cast<double>(values_[std::min(index, values_.size() - 1)]);
  };
  return fmt::format(R"({{"count":{},"p50_ms":{:.3f},"p90_ms":{:.3f},"p99_ms":{:.3f},"max_ms":{:.3f}}})", count(),
                     at(0.5), at(0.9), at(0.99), at(1.0));
}

Cpu Cpu::read(const std::vector<pid_t>& servers) {
  Cpu cpu;
  for (const pid_t pid : servers) {
    const auto used = process_seconds(pid);
    if (!used) throw std::runtime_error(fmt::format("process {} has ended", pid));
    cpu.servers += *used;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  cpu.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cpu.machine = machine_seconds();
  return cpu;
}

Cpu Cpu::operator-(const Cpu& other) const {
  return {servers - other.servers, own - other.own, machine - other.machine};
}

void report(const std::string& json) {
  std::puts(json.c_str());
  std::fflush(stdout);
}

}  // namespace loadgen
