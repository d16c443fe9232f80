#include "desk/blob_copy.h"

#include <vector>

namespace restante::desk {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::string_view kProbe = "whether bytes can be kept here";

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

bool reads_as(OpenBlob& blob, std::string_view bytes) {
  blob.forget();
  std::string all(bytes.size() + 1, '\0');
  std::size_t size = 0;
  while (size < all.size()) {
    const std::size_t got = blob.read(size, std::span(all).subspan(size));
    if (got == 0) break;
    size += got;
  }
  all.resize(size);
  return all == bytes;
}

}  // namespace

std::optional<std::string> write_copy(Places& places, const MovingBlob& blob, Place to,
                                      const std::atomic<bool>& stopping, const std::function<void(std::size_t)>& read) {
  const auto source = places.open(blob.keys.key);
  if (!source) return std::nullopt;
  const auto writer = places.put(to);
  const WholeRead all = read_all(*source, blob, stopping, [&](std::string_view bytes) {
    read(bytes.size());
    writer->write(bytes);
  });
  if (!all.sound) return std::nullopt;
  return writer->finish().key;
}

bool reads_back(Places& places, const MovingBlob& blob, const std::string& key, const std::atomic<bool>& stopping) {
  const auto copy = places.open(key);
  if (!copy) return false;
  copy->forget();
  return read_all(*copy, blob, stopping, [](std::string_view) {}).sound;
}

void try_out(Places& places, Place place) {
  const auto writer = places.put(place);
  writer->write(kProbe);
  const std::string key = writer->finish().key;  // from here on at the latest an orphan, which the sweep collects
  const auto blob = places.open(key);
  const bool right = blob && reads_as(*blob, kProbe);
  places.drop(key);
  if (!right) throw Unavailable("what was written does not read back as it was");
}

}  // namespace restante::desk
