#include "desk/blob_checks/blob_walk.h"

#include <iterator>
#include <limits>
#include <thread>
#include <utility>

namespace restante::desk {
namespace {

constexpr std::int64_t kPiece = 256 << 10;
constexpr auto kLongestPause = std::chrono::milliseconds(50);

using State = CheckedCopy::State;

}  // namespace

FileReading::FileReading(Places& places, Upload upload, Copies wanted)
    : places_(places), upload_(std::move(upload)), wanted_(wanted), left_{upload_.blob_key}, reading_(upload_.size) {
  if (!upload_.twin_key.empty()) left_.push_back(upload_.twin_key);
  if (!upload_.in_row()) open_next();
}

bool FileReading::read_all(const std::atomic<bool>& stopping, const ReadBytes& count) {
  std::int64_t all = std::numeric_limits<std::int64_t>::max();
  return read_on(all, stopping, count);
}

bool FileReading::read_on(std::int64_t& allowance, const std::atomic<bool>& stopping, const ReadBytes& count) {
  if (upload_.in_row() && copies_.empty()) {
    count(upload_.content.size());
    const State wrong = upload_.content.empty() ? State::missing : State::changed;
    decide(sha256(upload_.content) == upload_.sha256 ? State::sound : wrong);
  }
  std::vector<char> piece(static_cast<std::size_t>(std::min(kPiece, upload_.size + 1)));
  while (!stopping) {
    if (!blob_ && !open_next()) return true;
    if (!blob_) continue;
    if (allowance <= 0) return false;
    read_piece(piece, allowance, count);
  }
  return false;
}

// False if nothing is left to read.
bool FileReading::open_next() {
  if (left_.empty() || (wanted_ == Copies::until_sound && find(State::sound))) return false;
  try {
    blob_ = places_.open(left_.front());
    if (!blob_) decide(State::missing);
  } catch (const Unavailable& e) {
    if (wanted_ == Copies::until_sound) throw;
    decide(State::unreadable, e.what());
  }
  return true;
}

void FileReading::read_piece(std::span<char> into, std::int64_t& allowance, const ReadBytes& count) {
  try {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(allowance, std::ssize(into)));
    const std::string_view bytes = reading_.next(*blob_, into.first(most));
    count(bytes.size());
    allowance -= std::ssize(bytes);
    if (!bytes.empty() && !reading_.is_too_long()) return;
    if (reading_.matches(upload_.sha256)) return decide(State::sound);
    if (second_look_) return decide(State::changed);
    blob_->forget();
    reading_ = BlobReading(upload_.size);
    second_look_ = true;
  } catch (const Unavailable& e) {
    decide(State::unreadable, e.what());
  }
}

void FileReading::decide(State state, std::string why) {
  copies_.push_back({std::move(left_.front()), state, std::move(why)});
  left_.pop_front();
  blob_.reset();
  reading_ = BlobReading(upload_.size);
  second_look_ = false;
}

const CheckedCopy* FileReading::find(State state) const {
  const auto found = std::ranges::find(copies_, state, &CheckedCopy::state);
  return found == copies_.end() ? nullptr : &*found;
}

std::optional<UploadDamage> FileReading::damage() const {
  if (find(State::sound) || find(State::unreadable)) return std::nullopt;
  return find(State::changed) ? UploadDamage::changed : UploadDamage::missing;
}

void BlobWalk::restart() {
  after_.reset();
  rows_.clear();
  from_.clear();
}

const Upload* BlobWalk::next_row() {
  if (rows_.empty()) {
    auto page = store_.walk_uploads(after_, page_);
    rows_.assign(std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
  return rows_.empty() ? nullptr : &rows_.front();
}

void BlobWalk::pass_row() {
  after_ = rows_.front().id;
  rows_.pop_front();
}

std::vector<BlobWalk::Blob> BlobWalk::next_blobs(Time before, Places::UnreachablePlaces& unreachable_places) {
  BlobPage page = places_.list(from_, before, &unreachable_places);
  const auto known = store_.known_blobs(page.keys);
  auto next_known = known.begin();
  std::vector<Blob> blobs;
  for (std::string& key : page.keys) {
    const bool named = next_known != known.end() && *next_known == key;
    if (named) ++next_known;
    blobs.push_back({std::move(key), named});
  }
  next_from_ = std::move(page.next);
  return blobs;
}

bool BlobWalk::pass_blobs() {
  from_ = std::move(next_from_);
  return !from_.empty();
}

bool BlobJob::is_still(const Upload& upload) const {
  const auto now = store_.find_upload(upload.workspace_id, upload.id);
  return now && now->keys() == upload.keys();
}

void BlobJob::count_orphan(const std::string& key) {
  metrics_.orphans_collected.Increment();
  log_.info("orphan_collected", {{"blob", key}});
}

void BlobJob::pause_for_writers(SteadyTime since, int times) {
  const auto took = std::chrono::steady_clock::now() - since;
  std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(times * took, kLongestPause));
}

}  // namespace restante::desk
