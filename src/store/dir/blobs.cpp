#include "store/dir/blobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "store/blob_key.h"
#include "store/dir/draft.h"
#include "store/dir/mark.h"
#include "store/dir/open_file.h"
#include "store/dir/place.h"

namespace restante::dir {
namespace {

constexpr int kSubdirectories = 256;

class DirBlobs final : public Blobs {
 public:
  DirBlobs(const std::filesystem::path& directory, Drafts drafts, const Clock& clock)
      : place_(directory), drafts_(drafts), clock_(clock) {
    if (drafts_ == Drafts::unnamed_if_possible && !can_be_unnamed()) drafts_ = Drafts::named;
  }

  void check() override {
    place_.require_healthy();
    place_.require_same_directory();
    try_out(drafts_);
  }

  std::unique_ptr<BlobWriter> put() override {
    place_.require_healthy();
    return std::make_unique<Draft>(place_, drafts_, clock_);
  }

  std::shared_ptr<OpenBlob> open(std::string_view key) override {
    if (!is_blob_key(key)) return nullptr;
    Fd file(openat(place_.fd(), file_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) {
      place_.require_same_directory();
      return nullptr;
    }
    if (!file) place_.fail("open a blob");
    return std::make_shared<OpenFile>(std::move(file));
  }

  // Not synced: after a power cut it may be there again, as an orphan that the sweep collects.
  void drop(std::string_view key) override {
    if (!is_blob_key(key)) return;
    if (unlinkat(place_.fd(), file_of(key).c_str(), 0) != 0 && errno != ENOENT) place_.fail("drop a blob");
  }

  // A step is a subdirectory, one 256th of all.
  BlobPage list(std::string_view from, Time before) override {
    place_.require_same_directory();
    const int at = from.size() == 2 ? hex_digit(from[0]) * 16 + hex_digit(from[1]) : 0;
    BlobPage page;
    for (auto& name : place_.names_in(fmt::format("{:02x}", at))) {
      if (is_blob_key(name) && time_of_blob_key(name) < before) page.keys.push_back(std::move(name));
    }
    if (at + 1 < kSubdirectories) page.next = fmt::format("{:02x}", at + 1);
    return page;
  }

  std::size_t drop_unfinished(Time before) override {
    return static_cast<std::size_t>(std::ranges::count_if(
        unfinished(before), [this](const std::string& file) { return unlinkat(place_.fd(), file.c_str(), 0) == 0; }));
  }

  std::size_t count_unfinished(Time before) override { return unfinished(before).size(); }

  std::optional<std::string> mark() override { return read_mark(place_); }
  void put_mark(const std::string& text, Marking how) override { write_mark(place_, text, how, clock_); }

 private:
  // The system dates what is written by its own clock, which may be another than ours.
  std::vector<std::string> unfinished(Time before) {
    const auto behind = clock_.now() - SystemClock().now();
    std::vector<std::string> files;
    for (const auto& name : place_.names_in("tmp")) {
      std::string file = "tmp/" + name;
      struct stat info{};
      if (fstatat(place_.fd(), file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const Time written(std::chrono::seconds(info.st_mtim.tv_sec));
      if (written + behind < before) files.push_back(std::move(file));
    }
    return files;
  }

  // Some file systems have no files without a name, and some containers no /proc to name them by.
  void try_out(Drafts drafts) {
    Draft draft(place_, drafts, clock_);
    draft.write("check");
    drop(draft.finish_as(trial_blob_key(clock_.now())));
  }

  bool can_be_unnamed() {
    try {
      try_out(Drafts::unnamed_if_possible);
      return true;
    } catch (const StorageFull&) {
      return true;
    } catch (const Unavailable&) {
      place_.require_healthy();
      return false;
    }
  }

  Place place_;
  Drafts drafts_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Blobs> open(const std::filesystem::path& directory, Drafts drafts, const Clock& clock) {
  return std::make_unique<DirBlobs>(directory, drafts, clock);
}

std::unique_ptr<Blobs> open(const std::filesystem::path& directory, Drafts drafts) {
  static const SystemClock clock;
  return open(directory, drafts, clock);
}

}  // namespace restante::dir
