#include "store/places.h"

#include <utility>

#include "store/owner.h"

namespace restante {
namespace {

constexpr auto kCheckLasts = std::chrono::seconds(5);

bool has_size(OpenBlob& blob, std::int64_t size) { return std::cmp_equal(blob.size(), size); }

Unavailable not_here(Place place) {
  return Unavailable("this server is not set up for files in \"" + std::string(name_of(place)) + "\"");
}

}  // namespace

PlacesWriter::PlacesWriter(std::vector<std::pair<Place, Blobs*>> places) {
  for (const auto& [place, blobs] : places) copies_.push_back({place, blobs, blobs->put()});
}

void PlacesWriter::write(std::string_view bytes) {
  for (Copy& copy : copies_) copy.writer->write(bytes);
}

BlobKeys PlacesWriter::finish() {
  std::vector<std::string> bare;
  try {
    for (Copy& copy : copies_) bare.push_back(copy.writer->finish());
  } catch (...) {
    for (std::size_t i = 0; i < bare.size(); ++i) {
      try {
        copies_[i].blobs->drop(bare[i]);
      } catch (const Unavailable&) {  // NOLINT(bugprone-empty-catch): an orphan, which the sweep collects
      }
    }
    throw;
  }
  BlobKeys keys{key_in(copies_[0].place, bare[0]), {}};
  if (copies_.size() > 1) keys.twin = key_in(copies_[1].place, bare[1]);
  return keys;
}

Places::Places(ByPlace places, PlacePlan plan, Log& log, Metrics& metrics, Owner* owner)
    : places_(std::move(places)), log_(log), metrics_(metrics), owner_(owner), plan_(plan) {}

PlacePlan Places::plan() const {
  const MutexLock lock(mutex_);
  return plan_;
}

void Places::set_plan(PlacePlan plan) {
  const MutexLock lock(mutex_);
  plan_ = plan;
}

Blobs& Places::at(Place place) const {
  const auto found = places_.find(place);
  if (found == places_.end()) throw not_here(place);
  return found->second;
}

void Places::check() {
  const PlacePlan now = plan();
  check(now.write);
  if (now.also) check(*now.also);
}

void Places::check(Place place) {
  require_not_foreign(place);
  at(place).check();
}

void Places::require_not_foreign(Place place) {
  if (owner_) owner_->require_not_foreign(place);
}

Blobs& Places::writable(Place place) const {
  if (owner_) owner_->require_writable(place);
  return at(place);
}

std::string Places::trouble(Place place) {
  {
    const MutexLock lock(mutex_);
    const auto last = checks_.find(place);
    if (last != checks_.end() && std::chrono::steady_clock::now() - last->second.at < kCheckLasts)
      return last->second.trouble;
  }
  std::string trouble;
  try {
    check(place);
  } catch (const Unavailable& e) {
    trouble = e.what();
    if (trouble.empty()) trouble = "it cannot be used";
  }
  const MutexLock lock(mutex_);
  checks_[place] = {std::chrono::steady_clock::now(), trouble};
  return trouble;
}

std::unique_ptr<PlacesWriter> Places::put() {
  const PlacePlan now = plan();
  std::vector<std::pair<Place, Blobs*>> places{{now.write, &writable(now.write)}};
  if (now.also) places.emplace_back(*now.also, &writable(*now.also));
  return std::make_unique<PlacesWriter>(std::move(places));
}

std::unique_ptr<PlacesWriter> Places::put(Place place) {
  return std::make_unique<PlacesWriter>(std::vector<std::pair<Place, Blobs*>>{{place, &writable(place)}});
}

FoundBlob Places::open(const BlobKeys& keys, std::int64_t size) {
  std::shared_ptr<OpenBlob> first;
  try {
    first = open(keys.key);
    if (keys.twin.empty() || (first && has_size(*first, size))) return {std::move(first), false};
  } catch (const Unavailable& e) {
    if (keys.twin.empty()) throw;
    FoundBlob second = open_twin(keys, size, nullptr, e.what());
    if (!second.blob || !has_size(*second.blob, size)) throw;
    // by_twin stays false: an unreachable first copy is not a missing one.
    return {std::move(second.blob), false};
  }
  const std::string_view reason = first ? "it has another size there" : "it is not there";
  return open_twin(keys, size, std::move(first), reason);
}

FoundBlob Places::open_twin(const BlobKeys& keys, std::int64_t size, std::shared_ptr<OpenBlob> first,
                            std::string_view reason) {
  std::shared_ptr<OpenBlob> second = open(keys.twin);
  if (second && has_size(*second, size)) {
    metrics_.blob_fallbacks.Increment();
    log_.warn("blob_fallback", {{"blob", keys.key}, {"read", keys.twin}, {"reason", reason}});
    return {std::move(second), true};
  }
  return {first ? std::move(first) : std::move(second), false};
}

std::shared_ptr<OpenBlob> Places::open(std::string_view key) {
  const auto placed = parse_key(key);
  if (!placed) return nullptr;
  auto blob = at(placed->place).open(placed->bare);
  // Checked after the blob was not found: a disk may be unmounted between two checks.
  if (!blob && owner_) owner_->require_now(placed->place);
  return blob;
}

void Places::drop(std::string_view key) {
  const auto placed = parse_key(key);
  if (placed) reaches(placed->place, nullptr, [&, &there = at(placed->place)] { there.drop(placed->bare); });
}

void Places::drop_unreferenced(std::string_view key) {
  const auto placed = parse_key(key);
  if (placed) at(placed->place).drop(placed->bare);
}

std::vector<std::string> Places::drop_all(std::span<const std::string> keys, UnreachablePlaces* unreachable_places) {
  std::map<Place, std::vector<std::string>> bare;
  std::vector<std::string> dropped;
  for (const std::string& key : keys) {
    const auto placed = parse_key(key);
    if (!placed || !has(placed->place)) {
      log_unknown_place(key);
      continue;
    }
    bare[placed->place].emplace_back(placed->bare);
    dropped.push_back(key);
  }
  for (const auto& [place, of_it] : bare) {
    if (reaches(place, unreachable_places, [&, &there = at(place), &those = of_it] { there.drop_all(those); }))
      continue;
    std::erase_if(dropped, [&, there = place](const std::string& key) { return parse_key(key)->place == there; });
  }
  return dropped;
}

void Places::log_unknown_place(const std::string& key) {
  const std::string prefix = key.substr(0, key.find(':'));
  {
    const MutexLock lock(mutex_);
    if (!logged_.insert(prefix).second) return;
  }
  log_.warn("blobs_not_dropped",
            {{"place", prefix}, {"reason", "this server is not set up for it; files to be deleted there stay"}});
}

bool Places::reaches(Place place, UnreachablePlaces* unreachable_places, const std::function<void()>& sweep) const {
  if (unreachable_places && unreachable_places->contains(place)) return false;
  try {
    if (owner_) owner_->require(place);
    sweep();
    return true;
  } catch (const Unavailable& e) {
    if (!unreachable_places) throw;
    unreachable_places->emplace(place, e.what());
    log_.debug("blobs_not_reached", {{"place", name_of(place)}, {"reason", e.what()}});
    return false;
  }
}

void Places::require_written_places(UnreachablePlaces& unreachable_places) const {
  const PlacePlan now = plan();
  for (auto out = unreachable_places.begin(); out != unreachable_places.end(); ++out) {
    if (out->first != now.write && out->first != now.also) continue;
    const std::string reason = out->second;
    unreachable_places.erase(out);
    throw Unavailable(reason);
  }
}

// `from` is the name of a place, a colon, and the cursor in that place (empty for its beginning).
BlobPage Places::list(std::string_view from, Time before, UnreachablePlaces* unreachable_places) {
  auto place = places_.begin();
  std::string_view inner;
  if (!from.empty()) {
    const std::size_t colon = from.find(':');
    const auto named = parse_place(from.substr(0, colon));
    if (named) place = places_.lower_bound(*named);
    inner = from.substr(colon + 1);
  }
  if (place == places_.end()) return {};
  BlobPage page;
  reaches(place->first, unreachable_places, [&] { page = place->second.get().list(inner, before); });
  for (std::string& key : page.keys) key = key_in(place->first, key);
  const auto named = [](Place of, const std::string& at) { return std::string(name_of(of)) + ':' + at; };
  if (!page.next.empty()) {
    page.next = named(place->first, page.next);
  } else if (std::next(place) != places_.end()) {
    page.next = named(std::next(place)->first, "");
  }
  return page;
}

std::size_t Places::drop_unfinished(Time before, UnreachablePlaces* unreachable_places) {
  std::size_t dropped = 0;
  for (const auto& [place, blobs] : places_) {
    reaches(place, unreachable_places, [&, &there = blobs.get()] { dropped += there.drop_unfinished(before); });
  }
  return dropped;
}

std::size_t Places::count_unfinished(Time before, UnreachablePlaces* unreachable_places) {
  std::size_t count = 0;
  for (const auto& [place, blobs] : places_) {
    reaches(place, unreachable_places, [&, &there = blobs.get()] { count += there.count_unfinished(before); });
  }
  return count;
}

}  // namespace restante
