#include "store/s3/object_reader.h"

#include <algorithm>
#include <cstring>

namespace restante::s3 {

ObjectReader::ObjectReader(Bucket& bucket, std::string key, Stored stored)
    : bucket_(bucket), key_(std::move(key)), stored_(std::move(stored)) {}

client::Outcome<std::size_t> ObjectReader::read(std::uint64_t at, std::span<char> into) {
  if (at >= stored_.size || into.empty()) return std::size_t{0};
  if (at < window_at_ || at - window_at_ >= window_.size()) {
    if (auto fetched = fetch(at, into.size()); fetched.has_error()) return fetched.error();
  }
  const auto from = static_cast<std::size_t>(at - window_at_);
  const auto bytes = std::min(into.size(), window_.size() - from);
  std::memcpy(into.data(), window_.data() + from, bytes);
  return bytes;
}

client::Outcome<void> ObjectReader::fetch(std::uint64_t at, std::size_t asked) {
  const bool follows = !window_.empty() && at == window_at_ + window_.size();
  const auto wanted = std::clamp(follows ? window_.size() * 2 : asked, std::size_t{1}, kLargestWindow);
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, stored_.size - at));
  window_.clear();
  window_.reserve(length);
  window_at_ = at;
  const auto take = [this](std::string_view bytes) { return window_ += bytes, true; };
  auto outcome = bucket_.get(key_, at, length, take, stored_.etag);
  if (outcome.has_error()) window_.clear();
  return outcome;
}

}  // namespace restante::s3
