#include "agent/state_directory.h"

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
constexpr std::size_t kMaxJournal = 256 << 20;
constexpr JsonLimits kLineLimits{.depth = 8, .nodes = 100'000};

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

std::string printable(std::string text) {
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
  return text;
}

std::string first_line(const std::string& text) {
  return std::string(trim(std::string_view(text).substr(0, text.find_first_of("\r\n"))));
}

struct Snapshot {
  State state;
  std::int64_t generation = 0;
};

DiskError damaged(const std::string& path, std::string_view file) {
  return {
      fmt::format("{} in {} is damaged or of another version; move it away to begin with an empty state", file, path),
      EINVAL};
}

// The snapshot's last line contains the generation of its journal.
DiskResult<Snapshot> read_snapshot(int folder, const std::string& path) {
  const auto text = read_file(folder, "state.json", kMaxState);
  if (text.has_error()) return text.error();
  Snapshot snapshot;
  if (!*text) return snapshot;
  const auto end = (*text)->find('\n');
  auto state = State::parse((*text)->substr(0, end == std::string::npos ? end : end + 1));
  if (!state) return damaged(path, "state.json");
  snapshot.state = std::move(*state);
  const auto rest = end == std::string::npos ? std::string() : (*text)->substr(end + 1);
  const auto mark = parse_json(std::string_view(rest).substr(0, rest.find('\n')));
  if (mark.has_value()) snapshot.generation = mark->whole("generation");
  return snapshot;
}

// Applies the journal's whole lines if it belongs to the snapshot.
DiskResult<void> replay(int folder, const std::string& path, Snapshot& snapshot) {
  const auto text = read_file(folder, "journal", kMaxJournal);
  if (text.has_error()) return text.error();
  if (!*text) return {};
  bool first = true;
  std::size_t at = 0;
  for (std::size_t end; (end = (*text)->find('\n', at)) != std::string::npos; at = end + 1) {
    const auto line = parse_json(std::string_view(**text).substr(at, end - at), kLineLimits);
    // A power cut may leave garbage at the end, but not before the last sync.
    if (line.has_error()) return {};
    if (std::exchange(first, false)) {
      if (line->whole("generation") != snapshot.generation) return {};
    } else if (!snapshot.state.apply(*line)) {
      return damaged(path, "journal");
    }
  }
  return {};
}

}  // namespace

DiskResult<StateDirectory> StateDirectory::open(const std::string& path) {
  const mode_t before = umask(077);
  auto folder = open_root(path);
  umask(before);
  if (folder.has_error()) return folder.error();
  StateDirectory directory;
  directory.path_ = path;
  directory.folder_ = std::move(*folder);
  directory.lock_ = Fd(openat(directory.folder_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!directory.lock_) return disk_error("cannot open the lock in " + path);
  if (flock(directory.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return disk_error("cannot lock " + path);
    const auto holder = read_file(directory.folder_.get(), "lock", 4096);
    const auto who = holder.has_value() && *holder ? printable(**holder) : std::string();
    return DiskError("another agent uses the state in " + path + (who.empty() ? "" : ": " + who), EWOULDBLOCK);
  }
  const auto since = format_time(SystemClock().now());
  if (ftruncate(directory.lock_.get(), 0) == 0) {
    // For people; the lock works without it.
    (void)write_all(directory.lock_.get(), fmt::format("{}, process {}, since {}", host_name(), getpid(), since));
  }
  return directory;
}

DiskResult<State> StateDirectory::load() {
  auto snapshot = read_snapshot(folder_.get(), path_);
  if (snapshot.has_error()) return snapshot.error();
  if (const auto replayed = replay(folder_.get(), path_, *snapshot); replayed.has_error()) return replayed.error();
  generation_ = snapshot->generation;
  return std::move(snapshot->state);
}

DiskResult<void> StateDirectory::save(const State& state) {
  const auto generation = generation_ + 1;
  const auto mark = fmt::format("{{\"generation\":{}}}\n", generation);
  if (auto replaced = replace_file(folder_.get(), "state.json", state.dump() + mark); replaced.has_error())
    return replaced;
  // From here on the old journal does not count, even when the new one cannot be created.
  generation_ = generation;
  journal_ = Fd();
  if (auto replaced = replace_file(folder_.get(), "journal", mark); replaced.has_error()) return replaced;
  journal_ = Fd(openat(folder_.get(), "journal", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!journal_) return disk_error("cannot open the journal in " + path_);
  journal_bytes_ = mark.size();
  return {};
}

DiskResult<void> StateDirectory::append(std::string_view line) {
  if (!journal_) return DiskError("the journal is not open", EBADF);
  const auto text = std::string(line) + "\n";
  if (auto written = write_all(journal_.get(), text); written.has_error()) {
    // Nothing may follow half a line: the next write is a new snapshot.
    journal_ = Fd();
    return written;
  }
  journal_bytes_ += text.size();
  return {};
}

DiskResult<void> StateDirectory::sync_journal() const {
  if (!journal_) return DiskError("the journal is not open", EBADF);
  return sync_file(journal_.get());
}

DiskResult<std::string> StateDirectory::token() const {
  const auto text = read_file(folder_.get(), "token", 4096);
  if (text.has_error()) return text.error();
  return *text ? first_line(**text) : std::string();
}

DiskResult<void> StateDirectory::keep_token(const std::string& token) const {
  return replace_file(folder_.get(), "token", token + "\n");
}

DiskResult<void> StateDirectory::check_writable() const {
  const auto written =
      replace_file(folder_.get(), "trial", "a token has about this length: 0123456789abcdef0123456789\n");
  unlinkat(folder_.get(), "trial", 0);
  return written;
}

void StateDirectory::write_health(std::string_view json) const {
  const Fd file(openat(folder_.get(), ".health.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || write_all(file.get(), json).has_error()) return;
  (void)renameat(folder_.get(), ".health.new", folder_.get(), "health.json");
}

DiskResult<StateView> inspect_state(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return disk_error("cannot open the folder " + path);
  StateView state_view;
  if (const Fd lock(openat(folder.get(), "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)); lock)
    state_view.in_use = flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
  const auto text = [&](const char* name) {
    const auto read = read_file(folder.get(), name, kMaxState);
    return read.has_value() && *read ? **read : std::string();
  };
  state_view.holder = printable(text("lock"));
  state_view.health = text("health.json");
  state_view.token = !first_line(text("token")).empty();
  // While an agent writes, snapshot and journal may have different generations; then the snapshot alone is enough.
  auto snapshot = read_snapshot(folder.get(), path);
  if (snapshot.has_error()) return snapshot.error();
  (void)replay(folder.get(), path, *snapshot);
  if (!snapshot->state.workspace.empty()) state_view.state = std::move(snapshot->state);
  return state_view;
}

}  // namespace restante::agent
