#include "store/sqlite/database/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <utility>

namespace restante::sqlite {
namespace {

constexpr const char* kName = "restante";
// A group of commits fits; a larger one is written with several calls.
constexpr std::size_t kMostGathered = 1 << 20;
// SQLite's own xWrite cannot write 128 KiB or more with one call: it would report a full disk.
constexpr std::size_t kMostAtOnce = 124 << 10;

sqlite3_vfs* system_vfs() {
  static sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  return vfs;
}

// SQLite allocates it, with room for the file of the system VFS directly after it.
struct LogFile {
  sqlite3_file base;
  std::string* gathered;  // bytes from offset `start` that are not written to the system file yet
  sqlite3_int64 start;

  sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  sqlite3_int64 end() const { return start + static_cast<sqlite3_int64>(gathered->size()); }

  int flush() {
    int code = SQLITE_OK;
    for (std::size_t done = 0; done < gathered->size() && code == SQLITE_OK; done += kMostAtOnce) {
      const std::size_t piece = std::min(kMostAtOnce, gathered->size() - done);
      code = inner()->pMethods->xWrite(inner(), gathered->data() + done, static_cast<int>(piece),
                                       start + static_cast<sqlite3_int64>(done));
      // SQLite reads errno much later, when other calls have changed it.
      if (code != SQLITE_OK && errno == EDQUOT) code = SQLITE_FULL;
    }
    gathered->clear();
    return code;
  }
};

// Of the last sync of a log on this thread.
thread_local int last_sync_errno = 0;

LogFile& log_file_of(sqlite3_file* file) { return *reinterpret_cast<LogFile*>(file); }

// Writes the buffer, then makes the call. A failed write is the result of the call.
template <class Call>
int flushed(sqlite3_file* file, Call call) {
  LogFile& log = log_file_of(file);
  if (const int code = log.flush(); code != SQLITE_OK) return code;
  return call(log.inner());
}

int close_log(sqlite3_file* file) {
  LogFile& log = log_file_of(file);
  const int written = log.flush();
  delete log.gathered;
  const int closed = log.inner()->pMethods->xClose(log.inner());
  return written != SQLITE_OK ? written : closed;
}

int write_log(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  LogFile& log = log_file_of(file);
  if (!log.gathered->empty() && (at != log.end() || log.gathered->size() >= kMostGathered)) {
    if (const int code = log.flush(); code != SQLITE_OK) return code;
  }
  if (log.gathered->empty()) log.start = at;
  try {
    log.gathered->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  return SQLITE_OK;
}

int read_log(sqlite3_file* file, void* data, int size, sqlite3_int64 at) {
  return flushed(file, [=](sqlite3_file* inner) { return inner->pMethods->xRead(inner, data, size, at); });
}

int truncate_log(sqlite3_file* file, sqlite3_int64 size) {
  return flushed(file, [=](sqlite3_file* inner) { return inner->pMethods->xTruncate(inner, size); });
}

int sync_log(sqlite3_file* file, int flags) {
  last_sync_errno = 0;
  return flushed(file, [=](sqlite3_file* inner) {
    const int code = inner->pMethods->xSync(inner, flags);
    // Now: SQLite reports the failure much later, when other calls have changed errno.
    if (code != SQLITE_OK) inner->pMethods->xFileControl(inner, SQLITE_FCNTL_LAST_ERRNO, &last_sync_errno);
    return code;
  });
}

int size_log(sqlite3_file* file, sqlite3_int64* size) {
  return flushed(file, [=](sqlite3_file* inner) { return inner->pMethods->xFileSize(inner, size); });
}

int control_log(sqlite3_file* file, int what, void* argument) {
  sqlite3_file* inner = log_file_of(file).inner();
  return inner->pMethods->xFileControl(inner, what, argument);
}

int sector_size(sqlite3_file* file) {
  sqlite3_file* inner = log_file_of(file).inner();
  return inner->pMethods->xSectorSize(inner);
}

int device_characteristics(sqlite3_file* file) {
  sqlite3_file* inner = log_file_of(file).inner();
  return inner->pMethods->xDeviceCharacteristics(inner);
}

// Locks are taken on the database file only.
int no_lock(sqlite3_file*, int) { return SQLITE_OK; }
int no_reserved_lock(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}

constexpr sqlite3_io_methods kLogMethods = {
    1,       close_log,        read_log,    write_log,   truncate_log,           sync_log, size_log, no_lock,
    no_lock, no_reserved_lock, control_log, sector_size, device_characteristics, nullptr,  nullptr,  nullptr,
    nullptr, nullptr,          nullptr};

int open_file(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* given) {
  sqlite3_vfs* const system = system_vfs();
  if ((flags & SQLITE_OPEN_WAL) == 0) return system->xOpen(system, name, file, flags, given);
  LogFile& log = log_file_of(file);
  log.base.pMethods = nullptr;
  log.gathered = new (std::nothrow) std::string;
  log.start = 0;
  if (!log.gathered) return SQLITE_NOMEM;
  const int code = system->xOpen(system, name, log.inner(), flags, given);
  if (code == SQLITE_OK) {
    log.base.pMethods = &kLogMethods;
  } else {
    delete log.gathered;
  }
  return code;
}

sqlite3_vfs make_vfs() {
  sqlite3_vfs vfs = *system_vfs();
  vfs.zName = kName;
  vfs.pNext = nullptr;
  vfs.szOsFile += static_cast<int>(sizeof(LogFile));
  vfs.xOpen = open_file;
  return vfs;
}

}  // namespace

bool log_sync_found_no_room() {
  // Only for one failure: the next one may be of the database's own file.
  const int error = std::exchange(last_sync_errno, 0);
  return error == ENOSPC || error == EDQUOT;
}

const char* gathering_vfs() {
  static sqlite3_vfs vfs = make_vfs();
  [[maybe_unused]] static const int registered = sqlite3_vfs_register(&vfs, 0);
  return kName;
}

}  // namespace restante::sqlite
