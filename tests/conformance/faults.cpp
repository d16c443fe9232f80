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

namespace {

using restante::testing::Call;

struct Rule {
  std::atomic<int> error{0};
  std::atomic<int> spared{0};
  std::atomic<int> times{0};
  std::atomic<int> hits{0};

  bool strikes() {
    if (error == 0 || spared-- > 0 || times-- <= 0) return false;
    ++hits;
    errno = error;
    return true;
  }
};

std::array<Rule, 8> rules;

Rule& rule_of(Call call) { return rules.at(static_cast<std::size_t>(call)); }
bool fails(Call call) { return rule_of(call).strikes(); }

ssize_t faulty_write(int fd, const void* data, size_t size) {
  return fails(Call::write) ? -1 : syscall(SYS_write, fd, data, size);
}

ssize_t faulty_pwrite(int fd, const void* data, size_t size, off_t at) {
  return fails(Call::write) ? -1 : syscall(SYS_pwrite64, fd, data, size, at);
}

// SQLite reaches its writes through a table that is made to be changed.
void change_sqlite(sqlite3_syscall_ptr plain, sqlite3_syscall_ptr positioned) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  vfs->xSetSystemCall(vfs, "write", plain);
  vfs->xSetSystemCall(vfs, "pwrite", positioned);
  vfs->xSetSystemCall(vfs, "pwrite64", positioned);
}

template <class... Args>
int pass(Call call, long number, Args... args) {
  return fails(call) ? -1 : static_cast<int>(syscall(number, args...));
}

}  // namespace

// These take the place of libc's for the whole test program, shared libraries included.
extern "C" {
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
dirent* readdir(DIR* directory) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  return fails(Call::list) ? nullptr : real(directory);
}
}

namespace restante::testing {

Fault::Fault(Call call, int error, int spared, int times) {
  if (call == Call::write) {
    change_sqlite(reinterpret_cast<sqlite3_syscall_ptr>(faulty_write),
                  reinterpret_cast<sqlite3_syscall_ptr>(faulty_pwrite));
  }
  for (Rule& rule : rules) rule.hits = 0;
  Rule& rule = rule_of(call);
  rule.spared = spared;
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
