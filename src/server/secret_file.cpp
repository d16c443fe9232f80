#include "server/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace restante {
namespace {

constexpr std::size_t kMost = 4096;

std::runtime_error failure(const std::filesystem::path& file, std::string_view what) {
  return std::runtime_error(fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

class Descriptor final {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

void write_secret_file(const std::filesystem::path& file, std::string_view bytes) {
  const std::filesystem::path draft = file.string() + ".new";
  {
    const Descriptor out(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (out.get() < 0) throw failure(draft, "create");
    const bool written = ::write(out.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    if (!written || ::fsync(out.get()) != 0) throw failure(draft, "write");
  }
  if (::rename(draft.c_str(), file.c_str()) != 0) throw failure(file, "write");
  const Descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());
}

std::string read_secret_file(const std::filesystem::path& file, std::string_view remedy) {
  // One descriptor for the question and the answer, so that nobody can swap the file in between.
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (in.get() < 0 || ::fstat(in.get(), &info) != 0) throw failure(file, "read");
  if ((info.st_mode & 077) != 0) {
    throw std::runtime_error(fmt::format("{} is readable by others; run chmod 600 on it, {}", file.string(), remedy));
  }
  std::string bytes(kMost, '\0');
  const ssize_t got = ::read(in.get(), bytes.data(), bytes.size());
  if (got < 0) throw failure(file, "read");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace restante
