// ChunkedDecoder takes the bytes of a chunked body as they arrive and returns the data inside, without copying. Strict:
// sizes are bare hex digits, extensions are short and ignored, trailers are refused (they would become headers after
// the guard has checked). Pure; any split of the input gives the same data.
#pragma once
#include <cstdint>
#include <string_view>

namespace restante::http {

class ChunkedDecoder {
 public:
  enum class State { more, data, done, malformed };

  struct Step {
    State state;
    std::size_t used = 0;        // bytes of the input that were used, data included
    std::string_view data = {};  // a piece of the body, inside the input; only with State::data
  };

  // Call again with the unused rest until it returns more, done or malformed.
  Step next(std::string_view input);
  // Bytes that the current chunk has announced and that have not arrived: a limit can apply before they do.
  std::uint64_t announced() const { return left_; }

 private:
  enum class At { size, extension, size_lf, data, data_cr, data_lf, trailer, end_lf, finished };
  At at_ = At::size;
  std::uint64_t left_ = 0;
  std::size_t digits_ = 0;
  std::size_t extension_ = 0;
};

}  // namespace restante::http
