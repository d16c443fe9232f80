// Content: what all files of a run are made of. Random bytes, so that nothing on the way can compress them; only the
// first sixteen differ from file to file, so that no two files are the same. Immutable; shared by all connections.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace loadgen {

class Content {
 public:
  // For files of up to `most` bytes.
  explicit Content(std::size_t most);

  // Sixteen characters that no other file of this or another run begins with.
  static std::string unique();
  static constexpr std::size_t kUnique = 16;

  // What follows the unique beginning of a file of `size` bytes.
  std::string_view rest(std::size_t size) const { return std::string_view(bytes_).substr(kUnique, size - kUnique); }
  // Whether `bytes` may stand at `offset` of a file; the unique beginning always may.
  bool matches(std::uint64_t offset, std::string_view bytes) const;

 private:
  std::string bytes_;
};

}  // namespace loadgen
