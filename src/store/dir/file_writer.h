// Draft: a blob in the making, dated by the clock. Destroyed before it is published, it leaves nothing. Belongs to one
// thread at a time and must not outlive its Place.
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
  // Under a key that is nobody's yet.
  std::string finish_as(const std::string& key);

 private:
  void publish(const std::string& file);
  void remove_temporary();

  enum class State { writing, broken, finished };
  BlobDirectory& directory_;
  const Clock& clock_;
  std::string temporary_;         // its name in tmp/, empty when it has none
  std::optional<BlobFile> file_;  // until it is finished
  State state_ = State::writing;
};

// <2 hex>/<32 hex>; only for a key that is_blob_key. Its last two digits are random and spread the files evenly.
std::string_view subdirectory_of(std::string_view key);
std::string file_of(std::string_view key);

}  // namespace restante::dir
