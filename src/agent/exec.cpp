#include "agent/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "agent/files.h"
#include "agent/result_files.h"
#include "base/crypto.h"
#include "base/text.h"
#include "base/utf8.h"

extern char** environ;

namespace restante::agent {
namespace {

constexpr std::size_t kMaxOutput = 256 * 1024;
constexpr off_t kMaxWritten = 64 << 20;  // a command that writes more than this is killed
constexpr std::size_t kMaxErrors = 2 * 1024;
constexpr off_t kMaxErrorFile = 1 << 20;  // what was passed on is deleted then
constexpr std::chrono::milliseconds kCheckInterval{100};
constexpr std::chrono::milliseconds kKillDelay{5'000};  // between SIGTERM and SIGKILL
constexpr int kLockFd = 8, kAliveFd = 9;

// The runner. The traps are no-ops that the command does not inherit: after a signal the runner still records how the
// command ended; what it says about signals itself is not the command's. It writes its process id, which is also the
// group's, before the command begins: the next agent process may have to end the group.
constexpr const char* kRunnerScript =
    "trap : TERM INT HUP\n"
    "exec 3>&2 2>/dev/null\n"
    "echo $$ > \"$2.lock\"\n"
    "(export RESTANTE_RESULT_DIR=\"$2.files\"; exec /bin/sh -c \"$1\" 2>&3 3>&- 8>&- 9>&-)\n"
    "echo $? > \"$2.tmp\" && mv -f \"$2.tmp\" \"$2.code\"\n";

// The path of one run's files without suffix: <base>.in, .out, .err, .code, .lock, and the folder .files.
std::string base_of(const std::string& folder, const std::string& id) {
  return folder + "/" + to_hex(sha256(id)).substr(0, 32);
}

void forget_files(const std::string& base) {
  // .code first: without it the other files mean nothing.
  for (const char* end : {".code", ".tmp", ".out", ".err", ".in", ".lock"}) unlink((base + end).c_str());
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

// Runs /bin/sh with these words, without input and output. True when its exit code is 0.
bool shell_succeeds(std::vector<std::string> words) {
  words.insert(words.begin(), "sh");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  pid_t child = 0;
  int status = 0;
  const int error = posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Parsed, not run.
std::string syntax_error_in(const std::string& command) {
  return shell_succeeds({"-n", "-c", command}) ? "" : "the shell cannot parse it (a quote or a bracket is missing?)";
}

// The stderr of a command: a file, so that the command can write on when the agent is killed. What is new is passed on
// to our stderr, and the last lines are kept.
class ErrorOutput {
 public:
  explicit ErrorOutput(std::string path) : path_(std::move(path)) {}

  // For a command that an earlier agent process has started: what it wrote until now was passed on already.
  void skip_to_end() {
    const Fd file = open_file();
    struct stat found{};
    if (!file || fstat(file.get(), &found) != 0) return;
    passed_on_ = found.st_size;
    offset_ = std::max<off_t>(0, found.st_size - static_cast<off_t>(kMaxErrors));
  }
  void pass_on() {
    const Fd file = open_file();
    if (!file) return;
    std::array<char, 16 * 1024> bytes;
    for (;;) {
      const auto got = pread(file.get(), bytes.data(), bytes.size(), offset_);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      const std::string_view piece(bytes.data(), static_cast<std::size_t>(got));
      const auto known = std::clamp<off_t>(passed_on_ - offset_, 0, got);
      (void)write_all(STDERR_FILENO, piece.substr(static_cast<std::size_t>(known)));
      offset_ += got;
      tail_ += piece;
      if (tail_.size() > 2 * kMaxErrors) tail_.erase(0, tail_.size() - kMaxErrors);
    }
    if (offset_ <= kMaxErrorFile) return;
    // It was opened for appending: the command goes on at the beginning.
    if (ftruncate(file.get(), 0) == 0) offset_ = passed_on_ = 0;
  }
  std::string last_lines() const {
    std::string_view text = tail_;
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    if (text.size() > kMaxErrors) text.remove_prefix(text.size() - kMaxErrors);
    if (const auto end = text.find('\n'); text.size() == kMaxErrors && end != text.npos) text.remove_prefix(end + 1);
    int lines = 0;
    for (std::size_t at = text.size(); at > 0; --at) {
      if (text[at - 1] == '\n' && ++lines == kMostErrorLines) return presentable(text.substr(at), '?', "\n\t");
    }
    return presentable(text, '?', "\n\t");
  }

 private:
  static constexpr int kMostErrorLines = 10;

  Fd open_file() const { return Fd(open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)); }

  const std::string path_;
  off_t offset_ = 0;     // how far it was read
  off_t passed_on_ = 0;  // how far it was passed on
  std::string tail_;
};

class CommandRunner {
 public:
  CommandRunner(const CommandRun& job, const Stop& stop, const Stop& give_up)
      : job_(job), stop_(stop), give_up_(give_up), base_(base_of(job.folder, job.id)), errors_(base_ + ".err") {}

  CommandResult finish() {
    auto result = run();
    errors_.pass_on();
    result.errors = errors_.last_lines();
    return result;
  }

 private:
  CommandResult run() {
    if (mkdir(job_.folder.c_str(), 0700) != 0 && errno != EEXIST) return not_started(errno);
    lock_ = Fd(open((base_ + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock_) return not_started(errno);
    if (!take_lock()) return end_early();
    if (auto recorded = recorded_end(base_)) return *recorded;
    if (give_up_.requested()) return never_begun();
    if (const int error = start(); error != 0) return not_started(error);
    return wait();
  }

  // The command of an earlier agent process may still run: its runner has the lock. False when stop or give_up is
  // requested meanwhile.
  bool take_lock() {
    std::optional<std::chrono::steady_clock::time_point> until;
    bool waited = false;
    while (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return true;  // a file system without locks: assume it has ended
      if (!std::exchange(waited, true)) {
        errors_.skip_to_end();
        begun_at_ = start_of_earlier_run();
        if (job_.print_line)
          job_.print_line(fmt::format("the command of an earlier run still works on {}; waiting for its end", job_.id));
      }
      errors_.pass_on();
      if (!stop_.wait_for(kCheckInterval) && !give_up_.requested() && !is_too_long()) continue;
      group_ = static_cast<pid_t>(read_number(base_ + ".lock").value_or(0));
      // Without a process id the runner has only just begun and is about to write it; unless it cannot, on a full disk.
      const auto now = std::chrono::steady_clock::now();
      if (!until) until = now + kKillDelay;
      if (group_ > 0 || stop_.requested() || now >= *until) return false;
    }
    return true;
  }

  // When an earlier agent process wrote the input, in our own clock's terms.
  std::chrono::steady_clock::time_point start_of_earlier_run() const {
    struct stat found{};
    const auto now = std::chrono::steady_clock::now();
    if (stat((base_ + ".in").c_str(), &found) != 0) return now;
    const auto age = std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(found.st_mtime);
    return now - std::max(age, std::chrono::system_clock::duration(0));
  }
  bool is_too_long() const {
    return job_.longest.count() > 0 && std::chrono::steady_clock::now() - begun_at_ >= job_.longest;
  }

  // 0, or errno.
  int start() {
    discard_folder(base_ + ".files");
    if (mkdir((base_ + ".files").c_str(), 0700) != 0) return errno;
    unlink((base_ + ".out").c_str());
    const Fd out(open((base_ + ".out").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!out) return errno;
    unlink((base_ + ".err").c_str());
    const Fd err(open((base_ + ".err").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!err) return errno;
    if (ftruncate(lock_.get(), 0) != 0)
      return errno;  // the id of a run before a crash may belong to another process now
    if (!write_input()) return errno;
    const Fd in(open((base_ + ".in").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    int ends[2];
    if (!in || pipe(ends) != 0) return errno;
    alive_ = Fd(ends[0]);
    const Fd alive_end(ends[1]);
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
    const int error = spawn(in.get(), out.get(), err.get(), alive_end.get());
    if (error != 0) return error;
    group_ = child_;
    begun_at_ = std::chrono::steady_clock::now();
    return 0;
  }

  bool write_input() const {
    unlink((base_ + ".in").c_str());
    const Fd in(open((base_ + ".in").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return in && write_all(in.get(), job_.input).has_value();
  }

  int spawn(int in, int out, int err, int alive) {
    // Move the descriptors to high numbers first: one of them may have a number that another is to get.
    const Fd lock_high = high(lock_.get()), alive_high = high(alive), in_high = high(in), out_high = high(out),
             err_high = high(err);
    if (!lock_high || !alive_high || !in_high || !out_high || !err_high) return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_high.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out_high.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, err_high.get(), 2);
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
      errors_.pass_on();
      if (stop_.requested() || give_up_.requested() || is_too_long()) return end_early();
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
    if (stop_.requested()) return ended(CommandResult::How::stopped);
    if (give_up_.requested()) return ended(CommandResult::How::given_up);
    const auto limit = std::chrono::duration_cast<std::chrono::seconds>(job_.longest).count();
    return ended(CommandResult::How::killed, fmt::format("the command took longer than {} s and was ended", limit));
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
    errors_.pass_on();  // before its file is deleted
    forget_run(job_.folder, job_.id);
    return stopped;
  }

  const CommandRun& job_;
  const Stop& stop_;
  const Stop& give_up_;
  std::string base_;
  ErrorOutput errors_;
  std::chrono::steady_clock::time_point begun_at_;
  Fd lock_, alive_;
  pid_t child_ = 0;  // 0: an earlier agent process started it
  pid_t group_ = 0;
};

}  // namespace

std::string check_command(const std::string& command) {
  const auto words = trim(command);
  if (words.empty()) return "it is empty";
  if (const auto why = syntax_error_in(command); !why.empty()) return why;
  const std::string word(words.substr(0, words.find_first_of(" \t\n;&|<>()")));
  // Anything else the shell expands or takes apart: what it then runs is not known here.
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || strchr("._/+-", c); };
  if (word.empty() || word.front() == '-' || !std::ranges::all_of(word, is_plain)) return {};
  if (word.find('/') == std::string::npos)
    return shell_succeeds({"-c", "command -v \"$1\" >/dev/null 2>&1", "sh", word}) ? "" : "there is no command " + word;
  struct stat found{};
  if (stat(word.c_str(), &found) != 0) return word + ": " + std::generic_category().message(errno);
  if (S_ISDIR(found.st_mode)) return word + " is a folder";
  return access(word.c_str(), X_OK) == 0 ? "" : word + " is not executable (chmod +x)";
}

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
