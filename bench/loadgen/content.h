// Content: the bytes of all files of a run. They are random, so that nothing can compress them. Only the first sixteen
// differ from file to file, so that no two files are the same. Immutable; shared by all connections.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace loadgen {

class Content {
 public:
  // For files of up to `most` bytes.
  explicit Content(std::size_t most);

  // Sixteen characters with which no other file of this or another run begins.
  static std::string unique();
  static constexpr std::size_t kUnique = 16;

  // The bytes after the unique beginning of a file of `size` bytes.
  std::string_view rest(std::size_t size) const { return std::string_view(bytes_).substr(kUnique, size - kUnique); }
  // Whether `bytes` are right at `offset` of a file; the unique beginning is not compared.
  bool matches(std::uint64_t offset, std::string_view bytes) const;

 private:
  std::string bytes_;
};

}  // namespace loadgen
