#include "agent/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "agent/files.h"

namespace restante::agent {
namespace {

constexpr std::size_t kMaxOutput = 256 * 1024;
constexpr int kLookEvery = 100;  // ms: a grandchild may keep the pipe open after the command has ended
constexpr std::chrono::milliseconds kMercy{5'000};  // between SIGTERM and SIGKILL

struct Pipe {
  Descriptor read, write;
};

bool make_pipe(Pipe& pipe_ends) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe_ends.read = Descriptor(ends[0]);
  pipe_ends.write = Descriptor(ends[1]);
  return true;
}

// 0, or errno.
int spawn_shell(const std::string& command, int in, int out, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT}) sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", flag = "-c", text = command;
  char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  const int error = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// The command while it runs.
class Running {
 public:
  Running(pid_t child, Descriptor in, Descriptor out, const std::string& input)
      : child_(child), in_(std::move(in)), out_(std::move(out)), left_(input) {
    fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  }

  Ran finish(const Stop& stop) {
    while (!ended_) {
      pollfd entries[] = {
          {left_.empty() ? -1 : in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
      poll(entries, 3, kLookEvery);
      if (stop.requested()) return end_early();
      feed();
      drain();
      look(WNOHANG);
    }
    drain();
    return std::move(ran_);
  }

 private:
  void feed() {
    while (!left_.empty()) {
      const auto bytes = write(in_.get(), left_.data(), left_.size());
      if (bytes < 0 && errno == EAGAIN) return;
      if (bytes < 0 && errno == EINTR) continue;
      left_ = bytes < 0 ? std::string_view() : left_.substr(static_cast<std::size_t>(bytes));  // it need not read
    }
    in_ = Descriptor();
  }

  void drain() {
    char piece[8192];
    while (out_) {
      const auto bytes = read(out_.get(), piece, sizeof piece);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0) return;
      if (bytes == 0) {
        out_ = Descriptor();
        return;
      }
      const auto room = kMaxOutput - ran_.output.size();
      ran_.cut = ran_.cut || static_cast<std::size_t>(bytes) > room;
      ran_.output.append(piece, std::min(room, static_cast<std::size_t>(bytes)));
    }
  }

  void look(int flags) {
    int status = 0;
    if (waitpid(child_, &status, flags) != child_) return;
    ended_ = true;
    ran_.how = WIFEXITED(status) ? Ran::How::exited : Ran::How::killed;
    ran_.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }

  Ran end_early() {
    kill(-child_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + kMercy;
    while (!ended_ && std::chrono::steady_clock::now() < until) {
      pollfd entry{out_.get(), POLLIN, 0};
      poll(&entry, 1, kLookEvery / 4);
      drain();
      look(WNOHANG);
    }
    kill(-child_, SIGKILL);
    if (!ended_) look(0);
    ran_.how = Ran::How::stopped;
    return std::move(ran_);
  }

  pid_t child_;
  Descriptor in_, out_;
  std::string_view left_;
  bool ended_ = false;
  Ran ran_;
};

}  // namespace

Ran run_command(const std::string& command, const std::string& input, const Stop& stop) {
  Ran failed;
  Pipe in, out;
  pid_t child = 0;
  if (!make_pipe(in) || !make_pipe(out)) {
    failed.code = errno;
    return failed;
  }
  failed.code = spawn_shell(command, in.read.get(), out.write.get(), child);
  if (failed.code != 0) return failed;
  in.read = Descriptor();
  out.write = Descriptor();
  return Running(child, std::move(in.write), std::move(out.read), input).finish(stop);
}

}  // namespace restante::agent
