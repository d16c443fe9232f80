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

void give_name(Place& place, const std::string& draft, Blobs::Marking how) {
  const bool replace = how == Blobs::Marking::anyway;
  const int code = replace ? renameat(place.fd(), draft.c_str(), place.fd(), kMarkName)
                           : linkat(place.fd(), draft.c_str(), place.fd(), kMarkName, 0);
  const int why = errno;
  if (code != 0 || !replace) unlinkat(place.fd(), draft.c_str(), 0);
  errno = why;
  if (code != 0 && (replace || why != EEXIST)) place.fail("mark the directory of blobs");
}

}  // namespace

std::optional<std::string> read_mark(Place& place) {
  place.require_same_directory();
  const Fd file(openat(place.fd(), kMarkName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) place.fail("open the mark of the directory of blobs");
  std::array<char, kLongest> text;
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) place.fail("read the mark of the directory of blobs");
  return std::string(text.data(), static_cast<std::size_t>(got));
}

void write_mark(Place& place, const std::string& text, Blobs::Marking how, const Clock& clock) {
  place.require_healthy();
  place.require_same_directory();
  const std::string draft = "tmp/" + new_blob_key(clock.now());
  {
    const Fd file(openat(place.fd(), draft.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) place.fail("mark the directory of blobs");
    place.write_all(file.get(), text, 0);
    place.sync_data(file.get());
  }
  give_name(place, draft, how);
  place.sync_names(".");
}

}  // namespace restante::dir
