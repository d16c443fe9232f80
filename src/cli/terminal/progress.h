// Progress: the progress of a long operation as one line on a terminal that is drawn again and again. Writes nothing
// when stderr is no terminal. One thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace restante::cli {

// "25.0 MiB", "1.5 KiB", "17 B".
std::string format_bytes(std::uint64_t bytes);

// The unit of the amounts.
enum class ProgressUnit { bytes, rows, files };

// "[=====>    ]  48 %  12.0 of 25.0 MiB  18.2 MiB/s  1 s left", as wide as asked or narrower.
std::string format_progress(std::uint64_t done, std::uint64_t total, std::chrono::milliseconds elapsed,
                            std::size_t width, ProgressUnit unit = ProgressUnit::bytes);

class Progress {
 public:
  using Unit = ProgressUnit;

  explicit Progress(std::uint64_t total, Unit unit = Unit::bytes);
  // Draws the last state and goes to the next line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t amount);
  // Everything is sent again: the count starts at 0, the time continues.
  void restart();

 private:
  void draw();

  const std::uint64_t total_;
  const Unit unit_;
  const bool is_terminal_;
  const std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point drawn_{};
  std::uint64_t done_ = 0;
};

}  // namespace restante::cli
