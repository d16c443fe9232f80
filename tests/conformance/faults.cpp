#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <string>

namespace {

using restante::testing::Call;

struct Rule {
  std::atomic<int> error{0};
  std::atomic<int> skipped{0};
  std::atomic<int> times{0};
  std::atomic<int> hits{0};

  bool should_fail() {
    if (error == 0 || skipped-- > 0 || times-- <= 0) return false;
    ++hits;
    errno = error;
    return true;
  }
};

std::array<Rule, 10> rules;

Rule& rule_of(Call call) { return rules.at(static_cast<std::size_t>(call)); }
bool fails(Call call) { return rule_of(call).should_fail(); }

ssize_t faulty_write(int fd, const void* data, size_t size) {
  return fails(Call::write) ? -1 : syscall(SYS_write, fd, data, size);
}

ssize_t faulty_pwrite(int fd, const void* data, size_t size, off_t at) {
  return fails(Call::write) ? -1 : syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t faulty_read(int fd, void* data, size_t size) {
  return fails(Call::read) ? -1 : syscall(SYS_read, fd, data, size);
}

ssize_t faulty_pread(int fd, void* data, size_t size, off_t at) {
  return fails(Call::read) ? -1 : syscall(SYS_pread64, fd, data, size, at);
}

// SQLite makes system calls through a table that it allows to change.
template <class Plain, class Positioned>
void change_sqlite(const std::string& name, Plain plain, Positioned positioned) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  const auto at_a_place = reinterpret_cast<sqlite3_syscall_ptr>(positioned);
  vfs->xSetSystemCall(vfs, name.c_str(), reinterpret_cast<sqlite3_syscall_ptr>(plain));
  vfs->xSetSystemCall(vfs, ("p" + name).c_str(), at_a_place);
  vfs->xSetSystemCall(vfs, ("p" + name + "64").c_str(), at_a_place);
}

template <class... Args>
int pass(Call call, long number, Args... args) {
  return fails(call) ? -1 : static_cast<int>(syscall(number, args...));
}

}  // namespace

// These replace libc's functions in the whole test program, shared libraries included.
extern "C" {
ssize_t pread(int fd, void* data, size_t size, off_t at) { return faulty_pread(fd, data, size, at); }
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return faulty_pwrite(fd, data, size, at); }
int fdatasync(int fd) { return pass(Call::sync, SYS_fdatasync, fd); }
int fsync(int fd) { return pass(Call::sync, SYS_fsync, fd); }
int ftruncate(int fd, off_t size) noexcept { return pass(Call::truncate, SYS_ftruncate, fd, size); }
int openat(int fd, const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return pass(Call::open_at, SYS_openat, fd, name, flags, mode);
}
int linkat(int from, const char* name, int to, const char* other, int flags) noexcept {
  return pass(Call::link_at, SYS_linkat, from, name, to, other, flags);
}
int mkdirat(int fd, const char* name, mode_t mode) noexcept {
  return pass(Call::make_directory_at, SYS_mkdirat, fd, name, mode);
}
int fstatat(int fd, const char* name, struct stat* info, int flags) noexcept {
  return pass(Call::look, SYS_newfstatat, fd, name, info, flags);
}
int fstat(int fd, struct stat* info) noexcept { return pass(Call::look_at_open, SYS_fstat, fd, info); }
dirent* readdir(DIR* directory) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  return fails(Call::list) ? nullptr : real(directory);
}
}

namespace restante::testing {

Fault::Fault(Call call, int error, int skipped, int times) {
  if (call == Call::write) change_sqlite("write", faulty_write, faulty_pwrite);
  if (call == Call::read) change_sqlite("read", faulty_read, faulty_pread);
  for (Rule& rule : rules) rule.hits = 0;
  Rule& rule = rule_of(call);
  rule.skipped = skipped;
  rule.times = times;
  rule.error = error;
}

Fault::~Fault() {
  for (Rule& rule : rules) rule.error = 0;
}

int Fault::hits() const {
  int all = 0;
  for (const Rule& rule : rules) all += rule.hits;
  return all;
}

}  // namespace restante::testing
