// Promises: however the input is cut, the decoder gives the same result as a simple parser over the whole input; its
// data points into the input, and the announced size is never smaller than the data.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/oracle.h"
#include "http/chunked.h"

namespace {

using restante::http::ChunkedDecoder;
using State = ChunkedDecoder::State;

struct Outcome {
  State state = State::more;
  std::string data;
  std::size_t used = 0;
  bool operator==(const Outcome&) const = default;
};

// The same grammar, chunk by chunk over the whole text. Nothing when the line is invalid; npos as its end when it is
// not complete yet.
struct Line {
  std::uint64_t size = 0;
  std::size_t end = std::string_view::npos;
};

std::optional<Line> read_line(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  const auto digits = std::min(text.find_first_not_of(kHex), text.size());
  if (digits > 16 || (digits == 0 && !text.empty())) return std::nullopt;
  if (digits == text.size()) return Line{};
  const Line line{std::stoull(std::string(text.substr(0, digits)), nullptr, 16), std::string_view::npos};
  text = text.substr(digits);
  const auto cr = std::min(text.find('\r'), text.size());
  if (cr > 0) {
    const std::string_view extension = text.substr(1, cr - 1);
    if (text.front() != ';' || extension.size() > 256) return std::nullopt;
    for (const char c : extension) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) return std::nullopt;
    }
  }
  if (cr + 1 >= text.size()) return Line{line.size, std::string_view::npos};
  if (text[cr + 1] != '\n') return std::nullopt;
  return Line{line.size, digits + cr + 2};
}

Outcome reference(std::string_view text) {
  std::string data;
  std::size_t at = 0;
  const auto broken = [&] { return Outcome{State::malformed, data, 0}; };
  const auto more = [&] { return Outcome{State::more, data, text.size()}; };
  // The text that must come next, or its beginning if the input ends.
  const auto expect = [&] {
    const std::string_view rest = text.substr(at, 2);
    at += rest.size();
    return std::string_view("\r\n").starts_with(rest);
  };
  for (;;) {
    const auto line = read_line(text.substr(at));
    if (!line) return broken();
    if (line->end == std::string_view::npos) return more();
    at += line->end;
    if (line->size == 0) break;
    const std::string_view piece =
        text.substr(at, static_cast<std::size_t>(std::min<std::uint64_t>(line->size, text.size())));
    data += piece;
    at += piece.size();
    if (piece.size() < line->size) return more();
    const std::size_t left = text.size() - at;
    if (!expect()) return broken();
    if (left < 2) return more();
  }
  const std::size_t left = text.size() - at;
  if (!expect()) return broken();
  return left < 2 ? more() : Outcome{State::done, data, at};
}

void feed(ChunkedDecoder& decoder, std::string_view piece, Outcome& outcome) {
  for (;;) {
    const auto announced = decoder.announced();
    const auto step = decoder.next(piece);
    ORACLE(step.used <= piece.size() && (step.state == State::data) == !step.data.empty());
    outcome.state = step.state;
    outcome.used += step.used;
    if (step.state != State::data) return;
    const std::less_equal<const char*> ordered;
    ORACLE(ordered(piece.data(), step.data.data()) && step.data.data() + step.data.size() == piece.data() + step.used);
    ORACLE(step.data.size() == step.used ? step.data.size() <= announced : true);
    outcome.data += step.data;
    piece.remove_prefix(step.used);
  }
}

template <class Step>
Outcome decode(std::string_view text, Step step) {
  ChunkedDecoder decoder;
  Outcome outcome;
  while (!text.empty() && outcome.state == State::more) {
    const std::string_view piece = text.substr(0, step());
    feed(decoder, piece, outcome);
    text.remove_prefix(piece.size());
  }
  if (outcome.state == State::malformed) outcome.used = 0;
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Outcome expected = reference(input);
  ORACLE(decode(input, [&] { return input.size(); }) == expected);
  ORACLE(decode(input, [] { return std::size_t{1}; }) == expected);
  std::size_t seed = std::hash<std::string_view>{}(input);
  ORACLE(decode(input, [&seed] {
           seed = seed * 6364136223846793005u + 1442695040888963407u;
           return (seed >> 33) % 9 + 1;
         }) == expected);
  return 0;
}
