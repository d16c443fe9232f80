#include "http/chunked.h"

#include <algorithm>

#include "base/text.h"

namespace restante::http {
namespace {

constexpr std::size_t kMaxDigits = 16;      // 64 bits: a larger size cannot be counted
constexpr std::size_t kMaxExtension = 256;  // real clients send none; the limit keeps them from filling a buffer

}  // namespace

ChunkedDecoder::Step ChunkedDecoder::next(std::string_view input) {
  for (std::size_t i = 0; i < input.size();) {
    const char c = input[i];
    switch (at_) {
      case At::size:
        if (const int digit = hex_digit(c); digit >= 0) {
          if (++digits_ > kMaxDigits) return {State::malformed};
          left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
        } else if (digits_ == 0) {
          return {State::malformed};
        } else if (c == ';') {
          at_ = At::extension;
          extension_ = 0;
        } else if (c == '\r') {
          at_ = At::size_lf;
        } else {
          return {State::malformed};
        }
        ++i;
        break;
      case At::extension:
        if (c == '\r') {
          at_ = At::size_lf;
        } else if (++extension_ > kMaxExtension || (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
          return {State::malformed};
        }
        ++i;
        break;
      case At::size_lf:
        if (c != '\n') return {State::malformed};
        at_ = left_ == 0 ? At::trailer : At::data;
        ++i;
        break;
      case At::data: {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - i));
        left_ -= size;
        if (left_ == 0) at_ = At::data_cr;
        return {State::data, i + size, input.substr(i, size)};
      }
      case At::data_cr:
        if (c != '\r') return {State::malformed};
        at_ = At::data_lf;
        ++i;
        break;
      case At::data_lf:
        if (c != '\n') return {State::malformed};
        at_ = At::size;
        digits_ = 0;
        ++i;
        break;
      case At::trailer:
        if (c != '\r') return {State::malformed};
        at_ = At::end_lf;
        ++i;
        break;
      case At::end_lf:
        if (c != '\n') return {State::malformed};
        at_ = At::finished;
        return {State::done, i + 1};
      case At::finished:
        return {State::done, i};
    }
  }
  return {at_ == At::finished ? State::done : State::more, input.size()};
}

}  // namespace restante::http
