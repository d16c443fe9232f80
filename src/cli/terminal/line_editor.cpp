#include "cli/terminal/line_editor.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/utf8.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

constexpr char kCtrlC = 3, kCtrlD = 4, kBackspace = 8, kCtrlU = 21, kCtrlW = 23, kEscape = 27, kDelete = 127;

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The end of the text, as much as fits.
std::string_view tail_of(std::string_view text, std::size_t columns) {
  while (display_width(text) > columns) {
    text.remove_prefix(1);
    while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
  }
  return text;
}

}  // namespace

LineEditor::LineEditor(std::string prompt, int wake)
    : prompt_(std::move(prompt)),
      wake_(wake),
      terminal_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before_) == 0) {
  if (!terminal_) return;
  termios raw = before_;
  // Keys come one by one, and we show them: only then a line that arrives cannot tear the one that is typed.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

LineEditor::~LineEditor() {
  if (!terminal_) return;
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void LineEditor::draw() {
  const auto room = terminal_width() - std::min(terminal_width() - 1, display_width(prompt_) + 1);
  print("\r\x1b[K" + prompt_ + std::string(tail_of(line_, room)));
}

void LineEditor::erase_last() {
  while (!line_.empty() && continues_character(line_.back())) line_.pop_back();
  if (!line_.empty()) line_.pop_back();
}

LineEditor::Key LineEditor::take(char c) {
  if (c == '\n' || (terminal_ && c == '\r')) return Key::line;
  if (!terminal_) return line_ += c, Key::more;
  if (c == kCtrlC || (c == kCtrlD && line_.empty())) return Key::end;
  if (c == kDelete || c == kBackspace) erase_last();
  if (c == kCtrlU) line_.clear();
  if (c == kCtrlW) {
    while (!line_.empty() && line_.back() == ' ') line_.pop_back();
    while (!line_.empty() && line_.back() != ' ') line_.pop_back();
  }
  if (static_cast<unsigned char>(c) >= 0x20 && c != kDelete) line_ += c;
  return Key::more;
}

std::optional<std::string> LineEditor::read() {
  {
    const MutexLock lock(mutex_);
    typing_ = true;
    if (terminal_) draw();
  }
  while (true) {
    {
      const MutexLock lock(mutex_);
      for (std::size_t at = 0; at < pending_.size(); ++at) {
        // An arrow or another special key: its bytes are no text.
        if (terminal_ && pending_[at] == kEscape) {
          pending_.clear();
          break;
        }
        const Key key = take(pending_[at]);
        if (key == Key::more) continue;
        pending_.erase(0, at + 1);
        typing_ = false;
        if (terminal_) print("\r\x1b[K");
        if (key == Key::end) return {};
        return std::exchange(line_, {});
      }
      pending_.clear();
      if (terminal_) draw();
      if (ended_) {
        typing_ = false;
        if (line_.empty()) return {};
        return std::exchange(line_, {});
      }
    }
    pollfd entries[] = {{STDIN_FILENO, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(entries, 2, -1) < 0 && errno != EINTR) return {};
    if (entries[1].revents != 0) {
      const MutexLock lock(mutex_);
      typing_ = false;
      if (terminal_) print("\r\x1b[K");
      return {};
    }
    if (entries[0].revents == 0) continue;
    char bytes[4096];
    const auto got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ended_ = true;
    if (got > 0) pending_.assign(bytes, static_cast<std::size_t>(got));
  }
}

void LineEditor::print_above(std::string_view lines) {
  const MutexLock lock(mutex_);
  const bool redraw = terminal_ && typing_;
  print((redraw ? "\r\x1b[K" : "") + std::string(lines));
  if (redraw) draw();
}

}  // namespace restante::cli
