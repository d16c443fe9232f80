#include "desk/blob_copy.h"

#include <functional>
#include <vector>

namespace restante::desk {
namespace {

constexpr std::size_t kPiece = 256 << 10;

struct WholeRead {
  std::int64_t size = 0;
  bool sound = false;
};

// To its end, or as far as it is too long by a piece.
WholeRead read_all(OpenBlob& from, const MovingBlob& blob, const std::atomic<bool>& stopping,
                   const std::function<void(std::string_view)>& take) {
  std::vector<char> piece(kPiece);
  Sha256 hash;
  WholeRead read;
  while (!stopping && read.size <= blob.size) {
    const std::size_t got = from.read(static_cast<std::uint64_t>(read.size), piece);
    if (got == 0) break;
    const std::string_view bytes(piece.data(), got);
    hash.update(bytes);
    read.size += static_cast<std::int64_t>(got);
    if (read.size <= blob.size) take(bytes);
  }
  read.sound = !stopping && read.size == blob.size && hash.finish() == blob.sha256;
  return read;
}

}  // namespace

WrittenCopy write_copy(Places& places, const MovingBlob& blob, Place to, const std::atomic<bool>& stopping) {
  const auto source = places.open(blob.keys.key);
  if (!source) return {};
  const auto writer = places.put(to);
  const WholeRead read = read_all(*source, blob, stopping, [&](std::string_view bytes) { writer->write(bytes); });
  if (!read.sound) return {std::nullopt, read.size};
  return {writer->finish().key, read.size};
}

bool reads_back(Places& places, const MovingBlob& blob, const std::string& key, const std::atomic<bool>& stopping) {
  const auto copy = places.open(key);
  if (!copy) return false;
  copy->forget();
  return read_all(*copy, blob, stopping, [](std::string_view) {}).sound;
}

}  // namespace restante::desk
