#include "agent/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "agent/files.h"
#include "agent/result_files.h"
#include "base/crypto.h"
#include "base/text.h"

extern char** environ;

namespace restante::agent {
namespace {

constexpr std::size_t kMaxOutput = 256 * 1024;
constexpr off_t kMaxWritten = 64 << 20;  // a command that writes more than this is killed
constexpr std::chrono::milliseconds kCheckInterval{100};
constexpr std::chrono::milliseconds kKillDelay{5'000};  // between SIGTERM and SIGKILL
constexpr int kLockFd = 8, kAliveFd = 9;

// The runner. The traps are no-ops that the command does not inherit: after a signal the runner still records how the
// command ended. It writes its process id, which is also the group's, before the command begins: the next agent process
// may have to end the group.
constexpr const char* kRunnerScript =
    "trap : TERM INT HUP\n"
    "echo $$ > \"$2.lock\"\n"
    "RESTANTE_RESULT_DIR=\"$2.files\" /bin/sh -c \"$1\" 8>&- 9>&-\n"
    "echo $? > \"$2.tmp\" && mv -f \"$2.tmp\" \"$2.code\"\n";

// The path of one run's files without suffix: <base>.in, .out, .code, .lock, and the folder .files.
std::string base_of(const std::string& folder, const std::string& id) {
  return folder + "/" + to_hex(sha256(id)).substr(0, 32);
}

void forget_files(const std::string& base) {
  // .code first: without it the other files mean nothing.
  for (const char* end : {".code", ".tmp", ".out", ".in", ".lock"}) unlink((base + end).c_str());
  rmdir((base + ".files").c_str());
}

CommandResult ended(CommandResult::How how, std::string trouble = {}) {
  CommandResult result;
  result.how = how;
  result.trouble = std::move(trouble);
  return result;
}

CommandResult not_started(int error) {
  return ended(CommandResult::How::not_started, std::generic_category().message(error));
}

Fd high(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, kAliveFd + 1)); }

std::string read_start(const std::string& path, bool& cut) {
  const Fd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::string text(kMaxOutput + 1, '\0');
  std::size_t have = 0;
  while (file && have < text.size()) {
    const auto bytes = read(file.get(), text.data() + have, text.size() - have);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    have += static_cast<std::size_t>(bytes);
  }
  cut = have > kMaxOutput;
  text.resize(std::min(have, kMaxOutput));
  return text;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  bool cut = false;
  const auto text = read_start(path, cut);
  return parse_unsigned(std::string_view(text).substr(0, text.find('\n')));
}

// How the command ended, as the runner recorded it; no value when it has not.
std::optional<CommandResult> recorded_end(const std::string& base) {
  const auto code = read_number(base + ".code");
  if (!code || *code > 255) return {};
  CommandResult result;
  result.how = CommandResult::How::exited;
  result.code = static_cast<int>(*code);
  result.output = read_start(base + ".out", result.cut);
  return result;
}

class CommandRunner {
 public:
  CommandRunner(const CommandRun& job, const Stop& stop, const Stop& give_up)
      : job_(job), stop_(stop), give_up_(give_up), base_(base_of(job.folder, job.id)) {}

  CommandResult finish() {
    if (mkdir(job_.folder.c_str(), 0700) != 0 && errno != EEXIST) return not_started(errno);
    lock_ = Fd(open((base_ + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock_) return not_started(errno);
    if (!take_lock()) return end_early();
    if (auto recorded = recorded_end(base_)) return *recorded;
    if (give_up_.requested()) return never_begun();
    if (const int error = start(); error != 0) return not_started(error);
    return wait();
  }

 private:
  // The command of an earlier agent process may still run: its runner has the lock. False when stop or give_up is
  // requested meanwhile.
  bool take_lock() {
    std::optional<std::chrono::steady_clock::time_point> until;
    while (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return true;  // a file system without locks: assume it has ended
      if (!stop_.wait_for(kCheckInterval) && !give_up_.requested()) continue;
      group_ = static_cast<pid_t>(read_number(base_ + ".lock").value_or(0));
      // Without a process id the runner has only just begun and is about to write it; unless it cannot, on a full disk.
      const auto now = std::chrono::steady_clock::now();
      if (!until) until = now + kKillDelay;
      if (group_ > 0 || stop_.requested() || now >= *until) return false;
    }
    return true;
  }

  // 0, or errno.
  int start() {
    discard_folder(base_ + ".files");
    if (mkdir((base_ + ".files").c_str(), 0700) != 0) return errno;
    unlink((base_ + ".out").c_str());
    const Fd out(open((base_ + ".out").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!out) return errno;
    if (ftruncate(lock_.get(), 0) != 0)
      return errno;  // the id of a run before a crash may belong to another process now
    if (!write_input()) return errno;
    const Fd in(open((base_ + ".in").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    int ends[2];
    if (!in || pipe(ends) != 0) return errno;
    alive_ = Fd(ends[0]);
    const Fd alive_end(ends[1]);
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
    const int error = spawn(in.get(), out.get(), alive_end.get());
    if (error != 0) return error;
    group_ = child_;
    return 0;
  }

  bool write_input() const {
    unlink((base_ + ".in").c_str());
    const Fd in(open((base_ + ".in").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return in && write_all(in.get(), job_.input).has_value();
  }

  int spawn(int in, int out, int alive) {
    // Move the descriptors to high numbers first: one of them may have a number that another is to get.
    const Fd lock_high = high(lock_.get()), alive_high = high(alive), in_high = high(in), out_high = high(out);
    if (!lock_high || !alive_high || !in_high || !out_high) return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_high.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out_high.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, lock_high.get(), kLockFd);
    posix_spawn_file_actions_adddup2(&actions, alive_high.get(), kAliveFd);
    // A socket that another thread has just opened may not have FD_CLOEXEC yet.
    for (int other = 3; other < kLockFd; ++other) posix_spawn_file_actions_addclose(&actions, other);
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions, kAliveFd + 1);
#endif
#endif
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP}) sigaddset(&defaults, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string words[] = {"sh", "-c", kRunnerScript, "sh", job_.command, base_};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                         words[4].data(), words[5].data(), nullptr};
    const int error = posix_spawn(&child_, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }

  CommandResult wait() {
    while (!is_over(kCheckInterval)) {
      if (stop_.requested() || give_up_.requested()) return end_early();
      struct stat output{};
      if (stat((base_ + ".out").c_str(), &output) == 0 && output.st_size > kMaxWritten) {
        kill(-group_, SIGKILL);
        is_over(kKillDelay);
        return ended(CommandResult::How::killed, "the command wrote more than 64 MiB");
      }
    }
    auto recorded = recorded_end(base_);
    return recorded ? *recorded : ended(CommandResult::How::killed, "the command was killed");
  }

  // Waits until the runner closes its end of the pipe or a stop is requested, at most `patience`. True when the run has
  // ended.
  bool is_over(std::chrono::milliseconds patience) {
    if (child_ == 0) return flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
    const auto descriptor_unless_requested = [](const Stop& stop) { return stop.requested() ? -1 : stop.descriptor(); };
    pollfd entries[] = {{alive_.get(), POLLIN, 0},
                        {descriptor_unless_requested(stop_), POLLIN, 0},
                        {descriptor_unless_requested(give_up_), POLLIN, 0}};
    poll(entries, 3, static_cast<int>(patience.count()));
    if (entries[0].revents == 0) return false;
    waitpid(child_, nullptr, 0);
    return true;
  }

  CommandResult early_result() const {
    return ended(stop_.requested() ? CommandResult::How::stopped : CommandResult::How::given_up);
  }

  CommandResult never_begun() const {
    forget_run(job_.folder, job_.id);
    return early_result();
  }

  // If the command still ends with exit code 0, that result counts.
  CommandResult end_early() {
    auto stopped = early_result();
    if (group_ <= 0) {
      stopped.trouble = "it cannot be ended, since its process id is not known";
      return stopped;
    }
    kill(-group_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + kKillDelay;
    bool over = false;
    while (!(over = is_over(kCheckInterval / 4)) && std::chrono::steady_clock::now() < until) {
    }
    kill(-group_, SIGKILL);
    if (!over && child_ != 0) waitpid(child_, nullptr, 0);
    auto recorded = recorded_end(base_);
    if (recorded && recorded->how == CommandResult::How::exited && recorded->code == 0) return *recorded;
    forget_run(job_.folder, job_.id);
    return stopped;
  }

  const CommandRun& job_;
  const Stop& stop_;
  const Stop& give_up_;
  std::string base_;
  Fd lock_, alive_;
  pid_t child_ = 0;  // 0: an earlier agent process started it
  pid_t group_ = 0;
};

}  // namespace

CommandResult run_command(const CommandRun& job, const Stop& stop, const Stop& give_up) {
  return CommandRunner(job, stop, give_up).finish();
}

std::string describe_code(int code) {
  static constexpr std::pair<int, const char*> signals[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
      {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
      {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
      {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  for (const auto& [number, name] : signals) {
    if (code == 128 + number) return fmt::format("exit code {} (as after {})", code, name);
  }
  return fmt::format("exit code {}", code);
}

bool has_run(const std::string& folder, const std::string& id) {
  const auto base = base_of(folder, id);
  if (recorded_end(base)) return true;
  const Fd lock(open((base + ".lock").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void forget_run(const std::string& folder, const std::string& id) { forget_files(base_of(folder, id)); }

std::string result_folder(const std::string& folder, const std::string& id) { return base_of(folder, id) + ".files"; }

std::string attach_output(const std::string& folder, const std::string& id) {
  namespace fs = std::filesystem;
  const fs::path from = base_of(folder, id) + ".out";
  const fs::path files = result_folder(folder, id);
  std::error_code error;
  for (int number = 1; number <= 100; ++number) {
    const std::string name = number == 1 ? "output.txt" : fmt::format("output-{}.txt", number);
    const fs::path to = files / name;
    // The link may exist from before a kill; any other file of that name belongs to the command.
    if (fs::equivalent(from, to, error)) return name;
    if (fs::exists(fs::symlink_status(to, error))) continue;
    fs::create_hard_link(from, to, error);
    if (error) fs::copy_file(from, to, error);
    return error ? std::string() : name;
  }
  return {};
}

void forget_other_runs(const std::string& folder, const std::vector<std::string>& ids,
                       const std::vector<std::string>& result_folders) {
  std::set<std::string> kept;
  for (const auto& id : ids) kept.insert(base_of(folder, id));
  for (const auto& path : result_folders) kept.insert(std::filesystem::path(path).replace_extension().string());
  std::set<std::string> others;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    auto base = (entry.path().parent_path() / entry.path().stem()).string();
    if (!kept.contains(base)) others.insert(std::move(base));
  }
  for (const auto& base : others) {
    const Fd lock(open((base + ".lock").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    discard_folder(base + ".files");
    forget_files(base);
  }
}

}  // namespace restante::agent
