#include "loadgen/content.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <fmt/format.h>

namespace loadgen {

Content::Content(std::size_t most) : bytes_(std::max(most, kUnique), '\0') {
  std::mt19937_64 random(most);
  for (std::size_t i = 0; i < bytes_.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(bytes_.data() + i, &word, std::min(sizeof(word), bytes_.size() - i));
  }
}

std::string Content::unique() {
  static std::mt19937_64 random(std::random_device{}());
  return fmt::format("{:016x}", random());
}

bool Content::matches(std::uint64_t offset, std::string_view bytes) const {
  if (offset < kUnique) {
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(kUnique - offset, bytes.size()));
    bytes.remove_prefix(skipped);
    offset += skipped;
  }
  return std::string_view(bytes_).substr(std::min<std::size_t>(offset, bytes_.size()), bytes.size()) == bytes;
}

}  // namespace loadgen
