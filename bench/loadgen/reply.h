// Reply: parses one HTTP/1.1 answer as its bytes arrive. It knows Content-Length framing only, as the measured routes
// use it; anything else is an error, so that a wrong answer is never counted as a fast one. One thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "loadgen/content.h"

namespace loadgen {

class Reply {
 public:
  // Consumes the bytes of this answer and returns how many they were; throws std::runtime_error on bad framing.
  std::size_t take(std::string_view bytes);
  bool complete() const { return head_done_ && received_ == length_; }
  int status() const { return status_; }
  // The first kKept bytes.
  std::string_view body() const { return body_; }
  std::uint64_t size() const { return received_; }
  // Ready for the next answer; memory is kept.
  void reset();
  // Until reset() the body must be that file with `size` bytes; every byte is compared as it arrives.
  void expect(const Content* content, std::uint64_t size) {
    expected_ = content;
    expected_size_ = size;
  }

  static constexpr std::size_t kKept = 64 << 10;

 private:
  void parse(std::string_view head);
  void take_body(std::string_view bytes);

  std::string head_;  // only while a head comes in pieces
  std::string body_;
  bool head_done_ = false;
  int status_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t received_ = 0;
  const Content* expected_ = nullptr;
  std::uint64_t expected_size_ = 0;
};

}  // namespace loadgen
