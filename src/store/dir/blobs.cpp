#include "store/dir/blobs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "store/dir/draft.h"
#include "store/dir/place.h"

namespace restante::dir {
namespace {

class DirBlobs final : public Blobs {
 public:
  DirBlobs(const std::filesystem::path& directory, Drafts drafts) : place_(directory), drafts_(drafts) {
    empty_temporaries(directory / "tmp");
    if (drafts_ == Drafts::unnamed_if_possible && !can_be_unnamed()) drafts_ = Drafts::named;
  }

  void check() override {
    place_.require_healthy();
    place_.require_same_directory();
    Draft draft(place_, drafts_);
    draft.write("check");
    drop(draft.finish());
  }

  std::unique_ptr<BlobWriter> put() override {
    place_.require_healthy();
    return std::make_unique<Draft>(place_, drafts_);
  }

  std::shared_ptr<OpenBlob> open(std::string_view key) override {
    if (!is_key(key)) return nullptr;
    Fd file(openat(place_.fd(), file_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) {
      place_.require_same_directory();
      return nullptr;
    }
    if (!file) place_.fail("open a blob");
    auto blob = std::make_shared<OpenBlob>(file.get());
    file.release();
    return blob;
  }

  // Not synced: after a power cut it may be there again, as an orphan that the sweep collects.
  void drop(std::string_view key) override {
    if (!is_key(key)) return;
    if (unlinkat(place_.fd(), file_of(key).c_str(), 0) != 0 && errno != ENOENT) place_.fail("drop a blob");
  }

 private:
  void empty_temporaries(const std::filesystem::path& directory) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }

  // Some file systems have no files without a name, and some containers no /proc to name them by.
  bool can_be_unnamed() {
    try {
      Draft draft(place_, Drafts::unnamed_if_possible);
      draft.write("check");
      drop(draft.finish());
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
};

}  // namespace

std::unique_ptr<Blobs> open(const std::filesystem::path& directory, Drafts drafts) {
  return std::make_unique<DirBlobs>(directory, drafts);
}

}  // namespace restante::dir
