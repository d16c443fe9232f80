// Remote file content for tests of answers that are sent piece by piece: every byte follows from its offset, and a test
// can act in the middle of every read.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "net/test_edge.h"

namespace restante::net {

inline constexpr std::size_t kPiece = 256 << 10;
inline constexpr std::uint64_t kEndless = 256 << 20;  // more than any socket buffers

inline char byte_at(std::uint64_t at) { return static_cast<char>(at * 31 >> 7); }

inline std::string bytes_from(std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  for (std::uint64_t i = 0; i < length; ++i) bytes[i] = byte_at(offset + i);
  return bytes;
}

// File content on another machine, and what a test wants to happen there.
struct RemoteBytes {
  std::uint64_t size = kEndless;
  std::size_t most = std::numeric_limits<std::size_t>::max();  // of one read
  std::function<void(std::uint64_t at)> reading = {};
  std::atomic<int> reads{0};
  std::atomic<std::size_t> largest{0};
  Gate released{};

  http::Response answer(std::uint64_t offset, std::uint64_t length) {
    auto slice = std::make_shared<http::FileSlice>();
    slice->owner = open_when_released(released);
    slice->offset = offset;
    slice->length = length;
    slice->read = [this](std::uint64_t at, std::span<char> into) {
      ++reads;
      largest = std::max(largest.load(), into.size());
      if (reading) reading(at);
      const auto left = static_cast<std::size_t>(at < size ? size - at : 0);
      const std::size_t n = std::min({into.size(), most, left});
      for (std::size_t i = 0; i < n; ++i) into[i] = byte_at(at + i);
      return n;
    };
    http::Response response;
    response.content = std::move(slice);
    return response;
  }
};

inline Options options_with(unsigned pool_threads, unsigned bytes_threads) {
  Options options = test_options();
  options.pool_threads = pool_threads;
  options.bytes_threads = bytes_threads;
  return options;
}

}  // namespace restante::net
