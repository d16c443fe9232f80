#include "faults.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

constexpr int kOff = std::numeric_limits<int>::max();

struct Rule {
  std::atomic<int> error{0};
  std::atomic<int> left{kOff};
  std::atomic<int> hits{0};

  bool strikes() {
    if (error == 0 || left-- > 0) return false;
    ++hits;
    errno = error;
    return true;
  }
};

Rule write_rule;
Rule sync_rule;

Rule& rule_of(restante::testing::Call call) { return call == restante::testing::Call::write ? write_rule : sync_rule; }

ssize_t faulty_write(int fd, const void* data, size_t size) {
  return write_rule.strikes() ? -1 : syscall(SYS_write, fd, data, size);
}

ssize_t faulty_pwrite(int fd, const void* data, size_t size, off_t at) {
  return write_rule.strikes() ? -1 : syscall(SYS_pwrite64, fd, data, size, at);
}

// SQLite reaches its writes through a table that is made to be changed.
void change_sqlite(sqlite3_syscall_ptr plain, sqlite3_syscall_ptr positioned) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
  vfs->xSetSystemCall(vfs, "write", plain);
  vfs->xSetSystemCall(vfs, "pwrite", positioned);
  vfs->xSetSystemCall(vfs, "pwrite64", positioned);
}

}  // namespace

// These take the place of libc's for the whole test program, shared libraries included.
extern "C" {
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return faulty_pwrite(fd, data, size, at); }
int fdatasync(int fd) { return sync_rule.strikes() ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd)); }
int fsync(int fd) { return sync_rule.strikes() ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
}

namespace restante::testing {

Fault::Fault(Call call, int error, int spared) {
  if (call == Call::write) {
    change_sqlite(reinterpret_cast<sqlite3_syscall_ptr>(faulty_write),
                  reinterpret_cast<sqlite3_syscall_ptr>(faulty_pwrite));
  }
  write_rule.hits = 0;
  sync_rule.hits = 0;
  rule_of(call).left = spared;
  rule_of(call).error = error;
}

Fault::~Fault() {
  write_rule.error = 0;
  sync_rule.error = 0;
}

int Fault::hits() const { return write_rule.hits + sync_rule.hits; }

}  // namespace restante::testing
