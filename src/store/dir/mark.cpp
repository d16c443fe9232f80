#include "store/dir/mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "store/blob_key.h"

namespace restante::dir {
namespace {

constexpr std::size_t kLongest = 4096;

void give_name(BlobDirectory& directory, const std::string& temporary, Blobs::MarkMode how) {
  const bool replace = how == Blobs::MarkMode::anyway;
  const int code = replace ? renameat(directory.fd(), temporary.c_str(), directory.fd(), kMarkName)
                           : linkat(directory.fd(), temporary.c_str(), directory.fd(), kMarkName, 0);
  const int why = errno;
  if (code != 0 || !replace) unlinkat(directory.fd(), temporary.c_str(), 0);
  errno = why;
  if (code != 0 && (replace || why != EEXIST)) directory.fail("mark the directory of blobs");
}

}  // namespace

std::optional<std::string> read_mark(BlobDirectory& directory) {
  directory.require_same_directory();
  const Fd file(openat(directory.fd(), kMarkName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) directory.fail("open the mark of the directory of blobs");
  std::array<char, kLongest> text;
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) directory.fail("read the mark of the directory of blobs");
  return std::string(text.data(), static_cast<std::size_t>(got));
}

void write_mark(BlobDirectory& directory, const std::string& text, Blobs::MarkMode how, const Clock& clock) {
  directory.require_healthy();
  directory.require_same_directory();
  const std::string temporary = "tmp/" + new_blob_key(clock.now());
  {
    const Fd file(
        openat(directory.fd(), temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) directory.fail("mark the directory of blobs");
    directory.write_all(file.get(), text, 0);
    directory.sync_data(file.get());
  }
  give_name(directory, temporary, how);
  directory.sync_names(".");
}

}  // namespace restante::dir
