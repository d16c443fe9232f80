#include "desk/blob_moves/blob_copy.h"

#include <utility>
#include <vector>

namespace restante::desk {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::string_view kProbe = "whether bytes can be kept here";

// Whether the content is the staged one. False also when stopped.
bool read_all(OpenBlob& from, const MovingBlob& blob, const std::atomic<bool>& stopping,
              const std::function<void(std::string_view)>& take) {
  std::vector<char> piece(kPiece);
  BlobReading reading(blob.size);
  while (!stopping) {
    const std::string_view bytes = reading.next(from, piece);
    if (bytes.empty() || reading.is_too_long()) break;
    take(bytes);
  }
  return !stopping && reading.matches(blob.sha256);
}

}  // namespace

std::optional<std::string> write_copy(Places& places, const MovingBlob& blob, Place to,
                                      const std::atomic<bool>& stopping, const ReadBytes& read) {
  const auto source = places.open(blob.keys.key);
  if (!source) return std::nullopt;
  const auto writer = places.put(to);
  const bool sound = read_all(*source, blob, stopping, [&](std::string_view bytes) {
    read(bytes.size());
    writer->write(bytes);
  });
  if (!sound) return std::nullopt;
  return writer->finish().key;
}

bool reads_back(Places& places, const MovingBlob& blob, const std::string& key, const std::atomic<bool>& stopping,
                const ReadBytes& read) {
  const auto copy = places.open(key);
  if (!copy || !std::cmp_equal(copy->size(), blob.size)) return false;
  copy->forget();
  return read_all(*copy, blob, stopping, [&](std::string_view bytes) { read(bytes.size()); });
}

void test_place(Places& places, Place place) {
  const auto writer = places.put(place);
  writer->write(kProbe);
  const std::string key = writer->finish().key;  // if the process ends now, it is an orphan, which the sweep deletes
  const MovingBlob probe{{key, {}}, std::ssize(kProbe), sha256(kProbe), {}, {}};
  const bool right = reads_back(places, probe, key, std::atomic<bool>(false), [](std::size_t) {});
  places.drop_unreferenced(key);
  if (!right) throw Unavailable("the place returned other content than was written");
}

}  // namespace restante::desk
