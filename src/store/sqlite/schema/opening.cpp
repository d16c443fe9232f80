#include "store/sqlite/schema/opening.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/text.h"
#include "store/move_database.h"
#include "store/sqlite/database/soundness_check.h"
#include "store/sqlite/schema/migrations.h"

namespace restante::sqlite {
namespace {

namespace fs = std::filesystem;

std::string holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  const auto pid = size > 1 ? parse_unsigned({text.data(), static_cast<std::size_t>(size) - 1}) : std::nullopt;
  return pid ? fmt::format("process {}", *pid) : "another process";
}

// The directory entry of a new file must be durable before data is written to the file.
void sync_directory(const fs::path& directory) {
  const Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened && fsync(opened.get()) == 0) return;
  throw OpenRefused(fmt::format("{} cannot be synced: {}", directory.string(), std::strerror(errno)));
}

void make_file(const fs::path& file) {
  const Fd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) throw OpenRefused(fmt::format("{} cannot be created: {}", file.string(), std::strerror(errno)));
  sync_directory(directory_of(file));
}

void require_file(const fs::path& file, bool may_create) {
  // An empty file counts as missing: a copy failed, or a first start was interrupted.
  const bool there = fs::exists(file);
  if (there && fs::file_size(file) > 0) return;
  // SQLite would delete a log that has no database, and with it writes that were acknowledged.
  if (fs::exists(file.string() + "-wal")) {
    throw OpenRefused(fmt::format("the database {} is missing although its log is there; restore it", file.string()));
  }
  if (!may_create) {
    throw OpenRefused(fmt::format("the database {} is {}; restore it, or start with an empty data directory",
                                  file.string(), there ? "empty" : "missing"));
  }
  if (!there) make_file(file);
}

void require_sound(Database& database) {
  const std::string damage = find_damage(database);
  if (!damage.empty()) throw OpenRefused("the database is damaged (" + damage + "); restore a backup");
}

void use_log(Database& database) {
  Statement row = database.query("PRAGMA journal_mode = WAL");
  const std::string mode = row.step() ? row.text(0) : "none";
  if (mode != "wal") throw OpenRefused("the database cannot be put in WAL mode; does its file system support mmap?");
}

}  // namespace

DataLock::DataLock(const std::filesystem::path& directory) {
  // The file is never removed: a process that has a removed file open would hold a lock that no other process sees.
  const auto file = directory / "lock";
  file_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) {
    throw OpenRefused(
        fmt::format("the data directory {} cannot be used: {}", directory.string(), std::strerror(errno)));
  }
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string who = holder(file_.get());
    throw OpenRefused(fmt::format("the data directory {} is in use by {}; stop it first, or use another directory",
                                  directory.string(), who));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  // The pid is only for the sentence above, so a full disk is no reason to refuse.
  if (ftruncate(file_.get(), 0) != 0 || pwrite(file_.get(), pid.data(), pid.size(), 0) < 0) return;
}

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

bool has_marker(Database& database) {
  return database.query("SELECT 1 FROM sqlite_schema WHERE name = ?", kMoveMarker).step();
}

std::unique_ptr<Database> open_checked(const fs::path& file, const Options& options, Health& health,
                                       HalfMoved half_moved) {
  require_file(file, options.may_create);
  // A file of another program is recognised before anything in it is changed.
  return refusing(file, [&] {
    auto database = std::make_unique<Database>(file.string(), Database::Mode::read_write, health);
    Migrations migrations(*database);
    migrations.require_ours();
    if (fs::file_size(file) <= options.checked_at_open) require_sound(*database);
    if (database->is_read_only()) throw OpenRefused("the file is read-only");
    use_log(*database);
    if (half_moved == HalfMoved::refused && has_marker(*database)) throw OpenRefused(kHalfMoved);
    if (options.migrate) migrations.up(options.now);
    return database;
  });
}

}  // namespace restante::sqlite
