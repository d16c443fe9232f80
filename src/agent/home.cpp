#include "agent/home.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace restante::agent {
namespace {

constexpr std::size_t kMaxState = 64 << 20;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

std::string printable(std::string text) {
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
  return text;
}

}  // namespace

Tried<Home> Home::open(const std::string& path) {
  const mode_t before = umask(077);
  auto folder = open_root(path);
  umask(before);
  if (folder.has_error()) return folder.error();
  Home home;
  home.path_ = path;
  home.folder_ = std::move(*folder);
  home.lock_ = Descriptor(openat(home.folder_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!home.lock_) return system_fault("cannot open the lock in " + path);
  if (flock(home.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_fault("cannot lock " + path);
    const auto holder = read_file(home.folder_.get(), "lock", 4096);
    const auto who = holder.has_value() && *holder ? printable(**holder) : std::string();
    return Fault("another agent uses the state in " + path + (who.empty() ? "" : ": " + who), EWOULDBLOCK);
  }
  const auto since = format_time(SystemClock().now());
  if (ftruncate(home.lock_.get(), 0) == 0) {
    // A note for people; the lock holds without it.
    (void)write_all(home.lock_.get(), fmt::format("{}, process {}, since {}", host_name(), getpid(), since));
  }
  return home;
}

Tried<State> Home::load() const {
  const auto text = read_file(folder_.get(), "state.json", kMaxState);
  if (text.has_error()) return text.error();
  if (!*text) return State();
  auto state = State::parse(**text);
  if (!state)
    return Fault("state.json in " + path_ + " is damaged or of another version; move it away to begin anew", EINVAL);
  return std::move(*state);
}

Tried<void> Home::save(const State& state) const { return replace_file(folder_.get(), "state.json", state.dump()); }

Tried<std::string> Home::token() const {
  const auto text = read_file(folder_.get(), "token", 4096);
  if (text.has_error()) return text.error();
  return *text ? std::string(trim(text->value().substr(0, text->value().find_first_of("\r\n")))) : std::string();
}

Tried<void> Home::keep_token(const std::string& token) const {
  return replace_file(folder_.get(), "token", token + "\n");
}

}  // namespace restante::agent
