#include "store/s3/object_writer.h"

#include <algorithm>
#include <array>

namespace restante::s3 {
namespace {

// A larger object will probably fill a part; growing the buffer by doubling would allocate more than one part.
constexpr std::size_t kSmall = 1 << 20;

}  // namespace

void throw_failure(const client::Failure& failure) {
  static constexpr std::array<std::string_view, 3> full = {"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull"};
  if (failure.status == 507 || std::find(full.begin(), full.end(), failure.code) != full.end())
    throw StorageFull(failure.sentence);
  throw Unavailable(failure.sentence);
}

ObjectWriter::ObjectWriter(Bucket& bucket, std::string prefix, std::string key)
    : bucket_(bucket), key_(std::move(key)), object_(std::move(prefix) + key_) {}

ObjectWriter::~ObjectWriter() {
  if (state_ == State::finished) return;
  // Brief: a client waits for the answer. The sweep deletes unfinished uploads and orphans that are left.
  if (upload_ && bucket_.abort(object_, *upload_, Effort::brief).has_error()) return;
  if (state_ == State::unsure) static_cast<void>(bucket_.drop(std::array{object_}, Effort::brief));
}

void ObjectWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (gathered_.size() == kPartBytes) send_part();
    const auto piece = bytes.substr(0, kPartBytes - gathered_.size());
    if (gathered_.size() + piece.size() > kSmall) gathered_.reserve(kPartBytes);
    gathered_ += piece;
    bytes.remove_prefix(piece.size());
  }
}

void ObjectWriter::send_part() {
  if (!upload_) {
    auto begun = bucket_.begin(object_);
    if (begun.has_error()) throw_failure(begun.error());
    upload_ = std::move(*begun);
  }
  auto part = bucket_.put_part(object_, *upload_, static_cast<int>(parts_.size()) + 1, payload_of(gathered_));
  if (part.has_error()) throw_failure(part.error());
  parts_.push_back(std::move(*part));
  sent_ += gathered_.size();
  gathered_.clear();
}

std::string ObjectWriter::finish() {
  if (upload_) send_part();
  state_ = State::unsure;
  const auto stored =
      upload_ ? bucket_.complete(object_, *upload_, parts_, sent_) : bucket_.put(object_, payload_of(gathered_));
  if (stored.has_error()) throw_failure(stored.error());
  state_ = State::finished;
  return key_;
}

}  // namespace restante::s3
