#include "loadgen/reply.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace loadgen {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kLength = "\r\nContent-Length: ";

template <class T>
T number(std::string_view text) {
  T value{};
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    throw std::runtime_error("an answer without a number where one belongs");
  return value;
}

}  // namespace

std::size_t Reply::take(std::string_view bytes) {
  std::size_t used = 0;
  if (!head_done_) {
    const std::size_t before = head_.size();
    std::string_view seen = bytes;
    if (before > 0) seen = head_.append(bytes);
    const auto end = seen.find(kEnd);
    if (end == std::string_view::npos) {
      if (before == 0) head_.assign(bytes);
      return bytes.size();
    }
    parse(seen.substr(0, end + 2));
    used = end + kEnd.size() - before;
    head_.clear();
  }
  const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size() - used, length_ - received_));
  take_body(bytes.substr(used, step));
  return used + step;
}

void Reply::take_body(std::string_view bytes) {
  // An answer that is not the file is kept, for the error message.
  if (expected_ && status_ == 200) {
    if (length_ != expected_size_) throw std::runtime_error("a file of another size");
    if (!expected_->matches(received_, bytes)) throw std::runtime_error("a file with other content than was sent");
  } else if (body_.size() < kKept) {
    body_.append(bytes.substr(0, kKept - body_.size()));
  }
  received_ += bytes.size();
}

void Reply::parse(std::string_view head) {
  if (!head.starts_with("HTTP/1.1 ")) throw std::runtime_error("an answer that is not HTTP/1.1");
  status_ = number<int>(head.substr(9, 3));
  const auto length = head.find(kLength);
  if (length == std::string_view::npos) throw std::runtime_error("an answer without Content-Length");
  length_ = number<std::uint64_t>(head.substr(length + kLength.size()));
  head_done_ = true;
}

void Reply::reset() {
  head_.clear();
  body_.clear();
  head_done_ = false;
  status_ = 0;
  length_ = received_ = 0;
  expected_ = nullptr;
}

}  // namespace loadgen
