#include "server/secrets/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/fd.h"
#include "base/uuid.h"

namespace restante {
namespace {

constexpr std::size_t kMost = 4096;

std::runtime_error failure(const std::filesystem::path& file, std::string_view what) {
  return std::runtime_error(fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

// A temporary file beside the final one; deleted with this object unless it was renamed.
class TemporaryFile final {
 public:
  TemporaryFile(const std::filesystem::path& file, std::string_view bytes)
      : name_(fmt::format("{}.{}.new", file.string(), Uuid::make(SystemClock().now()).hex())) {
    const Fd out(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!out) throw failure(file, "create");
    if (write_all(out.get(), bytes) && ::fsync(out.get()) == 0) return;
    const int why = errno;
    ::unlink(name_.c_str());
    errno = why;
    throw failure(file, "write");
  }
  ~TemporaryFile() { ::unlink(name_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const char* name() const { return name_.c_str(); }

 private:
  const std::string name_;
};

void sync_folder_of(const std::filesystem::path& file) {
  const Fd folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

}  // namespace

void write_secret_file(const std::filesystem::path& file, std::string_view bytes) {
  const TemporaryFile temporary(file, bytes);
  if (::rename(temporary.name(), file.c_str()) != 0) throw failure(file, "write");
  sync_folder_of(file);
}

bool create_secret_file(const std::filesystem::path& file, std::string_view bytes) {
  const TemporaryFile temporary(file, bytes);
  if (::link(temporary.name(), file.c_str()) != 0) {
    if (errno == EEXIST) return false;
    throw failure(file, "write");
  }
  sync_folder_of(file);
  return true;
}

std::string read_secret_file(const std::filesystem::path& file, std::string_view remedy) {
  // One descriptor for check and read, so that the file cannot be replaced in between.
  const Fd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!in || ::fstat(in.get(), &info) != 0) throw failure(file, "read");
  if ((info.st_mode & 077) != 0) {
    throw std::runtime_error(fmt::format("{} is readable by others; run chmod 600 on it, {}", file.string(), remedy));
  }
  std::string bytes(kMost, '\0');
  const ssize_t got = ::read(in.get(), bytes.data(), bytes.size());
  if (got < 0) throw failure(file, "read");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

SealKey server_key(const std::string& given, const std::filesystem::path& data, Log& log) {
  if (!given.empty()) return sha256(given);
  const std::filesystem::path file = data / "server.key";
  SealKey key{};
  if (!std::filesystem::exists(file)) {
    random_bytes(key);
    if (create_secret_file(file, std::string_view(reinterpret_cast<const char*>(key.data()), key.size()))) {
      log.info("server_key_made", {{"file", file.string()}});
      return key;
    }
  }
  constexpr auto kRemedy = "or delete it: push agents then get a new inbound secret with their next heartbeat";
  const std::string bytes = read_secret_file(file, kRemedy);
  if (bytes.size() != key.size()) {
    throw std::runtime_error(
        fmt::format("{} does not hold 32 bytes: restore it from the backup, {}", file.string(), kRemedy));
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

}  // namespace restante
