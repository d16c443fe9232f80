// FileWriter: writes one blob to a file; its key has the time of the clock. If it is destroyed before finish(), nothing
// is left on the disk. Belongs to one thread at a time and must not outlive its BlobDirectory.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "store/dir/blob_directory.h"
#include "store/dir/blob_file.h"
#include "store/dir/blobs.h"

namespace restante::dir {

class FileWriter final : public BlobWriter {
 public:
  FileWriter(BlobDirectory& directory, TemporaryNames temporary_names, const Clock& clock);
  ~FileWriter() override;
  void write(std::string_view bytes) override;
  std::string finish() override;
  // Finishes under this key, which must not be in use.
  std::string finish_as(const std::string& key);

 private:
  void publish(const std::string& file);
  void remove_temporary();

  enum class State { writing, broken, finished };
  BlobDirectory& directory_;
  const Clock& clock_;
  std::string temporary_;         // the name in tmp/; empty when the file has none
  std::optional<BlobFile> file_;  // until the blob is finished
  State state_ = State::writing;
};

// <2 hex>/<32 hex>; requires is_blob_key(key). The subdirectory is the last two digits, which are random and distribute
// the files evenly.
std::string_view subdirectory_of(std::string_view key);
std::string file_of(std::string_view key);

}  // namespace restante::dir
