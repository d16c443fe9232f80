// LineEditor: one line that a person types at the bottom of the terminal while other lines appear above it. Without a
// terminal it reads plain lines and prints plain lines. read() belongs to one thread; print_above() may be called from
// any thread. Restores the terminal when it is destroyed.
#pragma once
#include <termios.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace restante::cli {

class LineEditor {
 public:
  // `wake` is a descriptor that is readable when read() is to end.
  LineEditor(std::string prompt, int wake);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without its end; no value at the end of the input, after Ctrl-C, or when woken.
  std::optional<std::string> read();
  // Prints whole lines above the one that is being typed.
  void print_above(std::string_view lines);

 private:
  enum class Key { more, line, end };
  Key take(char c) RESTANTE_REQUIRES(mutex_);
  void erase_last() RESTANTE_REQUIRES(mutex_);
  void draw() RESTANTE_REQUIRES(mutex_);

  const std::string prompt_;
  const int wake_;
  termios before_{};  // before terminal_, whose initialiser fills it
  const bool terminal_;
  std::string pending_;  // bytes that were read and not yet taken
  bool ended_ = false;   // the input has ended

  Mutex mutex_;
  std::string line_ RESTANTE_GUARDED_BY(mutex_);
  bool typing_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante::cli
