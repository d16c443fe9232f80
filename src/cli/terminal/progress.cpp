#include "cli/terminal/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace restante::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);  // a person does not notice more
constexpr std::size_t kUsualWidth = 80;

std::size_t terminal_width() {
  winsize size{};
  (void)::ioctl(STDERR_FILENO, TIOCGWINSZ, &size);  // leaves 0 when the width is not known
  return size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

std::string format_left(std::uint64_t seconds) {
  if (seconds < 60) return fmt::format("{} s left", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s left", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min left", seconds / 3600, seconds / 60 % 60);
}

std::string format_amount(std::uint64_t amount, ProgressUnit unit) {
  if (unit == ProgressUnit::bytes) return format_bytes(amount);
  return fmt::format("{} {}", amount, unit == ProgressUnit::rows ? "rows" : "files");
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_progress(std::uint64_t done, std::uint64_t total, std::chrono::milliseconds elapsed,
                            std::size_t width, ProgressUnit unit) {
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const double seconds = static_cast<double>(elapsed.count()) / 1000;
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string facts =
      fmt::format("{:3.0f} %  {} of {}", share * 100, format_amount(done, unit), format_amount(total, unit));
  if (rate > 0) facts += fmt::format("  {}/s", format_amount(static_cast<std::uint64_t>(rate), unit));
  if (rate > 0 && done < total)
    facts += "  " + format_left(static_cast<std::uint64_t>(std::llround(static_cast<double>(total - done) / rate)));
  constexpr std::size_t kLeastBar = 10;
  constexpr std::size_t kMostBar = 30;
  if (width < facts.size() + kLeastBar + 4) return facts.substr(0, width);
  const std::size_t bar = std::min(kMostBar, width - facts.size() - 4);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar));
  std::string drawn(filled, '=');
  if (filled < bar) drawn += '>';
  drawn.resize(bar, ' ');
  return fmt::format("[{}] {}", drawn, facts);
}

Progress::Progress(std::uint64_t total, Unit unit)
    : total_(total),
      unit_(unit),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      began_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (!is_terminal_) return;
  draw();
  std::fputc('\n', stderr);
}

void Progress::add(std::uint64_t amount) {
  done_ = std::min(done_ + amount, total_);
  if (is_terminal_ && std::chrono::steady_clock::now() - drawn_ >= kRedraw) draw();
}

void Progress::restart() { done_ = 0; }

void Progress::draw() {
  drawn_ = std::chrono::steady_clock::now();
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(drawn_ - began_);
  // One column is left free: many terminals break the line behind the last one.
  const std::string line = format_progress(done_, total_, elapsed, terminal_width() - 1, unit_);
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

}  // namespace restante::cli
