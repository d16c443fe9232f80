// MultipartParser parses multipart/form-data while it arrives: the caller feeds pieces of any size, the sink gets
// events.
//
// Strict where parsers disagree: lines end in CRLF, every part has exactly one Content-Disposition of form-data with a
// name, the closing delimiter is required. Content-Transfer-Encoding is ignored: content is passed on as sent, never
// decoded. How the body is split into pieces never changes the events' content or the status. Time is linear in the
// input for every boundary; memory is one part's headers. File content is not copied: spans point into the current
// piece, except for the beginning of a delimiter that was content after all. Not thread-safe; throws only what the sink
// throws.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace restante::http {

struct MultipartLimits {
  std::size_t preamble_bytes = 1024;       // discarded text before the first delimiter
  std::size_t header_bytes = 4096;         // one part's header lines, line ends and the blank line included
  std::size_t header_lines = 16;           // without the blank line
  std::size_t parts = 80;                  // files and fields together
  std::size_t filename_bytes = 1024;       // decoded, before it is sanitised
  std::size_t field_bytes = 64 * 1024;     // one part without a file name; the sink limits files
  std::size_t epilogue_bytes = 64 * 1024;  // discarded text after the closing delimiter's line
};

struct PartHeaders {
  std::string name;
  std::optional<std::string> filename;  // empty: a file input without a chosen file
  std::string content_type;             // as sent; empty when there was none
};

// The caller's side of the parser. Each method returns false to stop the parser; the sink is not called again after
// that.
class MultipartSink {
 public:
  virtual ~MultipartSink() = default;
  virtual bool part_begin(const PartHeaders& headers) = 0;
  // Never empty; the span is valid during the call only.
  virtual bool part_data(std::string_view span) = 0;
  virtual bool part_end() = 0;
};

enum class MultipartStatus {
  ok,
  malformed,
  preamble_too_large,
  too_many_parts,
  headers_too_large,
  filename_too_long,
  field_too_large,
  epilogue_too_large,
  stopped,  // the sink returned false
};

class MultipartParser final {
 public:
  // `boundary` has passed is_boundary(). The sink outlives the parser.
  MultipartParser(std::string_view boundary, MultipartSink& sink, const MultipartLimits& limits = {});
  MultipartParser(const MultipartParser&) = delete;
  MultipartParser& operator=(const MultipartParser&) = delete;

  // The first failure is final: every later call returns it, and the sink is not called any more.
  MultipartStatus feed(std::string_view bytes);

  // Ends the body: malformed unless the closing delimiter was seen. A body without any part is ok.
  MultipartStatus finish();

 private:
  enum class State { preamble, separator, separator_lf, headers, body, closing, closing_lf, epilogue };
  enum class Match { none, partial, separator, closing };

  // Each returns how many bytes at the front of `in` it consumed. It returns 0 only when it changed the state.
  std::size_t read_data(std::string_view in);
  std::size_t read_line_end(std::string_view in);
  std::size_t read_headers(std::string_view in);
  std::size_t read_epilogue(std::string_view in);

  Match match(std::string_view in, std::size_t& at);
  std::size_t find_start(std::string_view in, std::size_t at) const;
  bool deliver(std::string_view span);
  void expect_content(State state);
  void end_content(Match delimiter);
  void begin_headers();
  void end_header_line();
  void read_header(std::string_view line);
  void read_disposition(std::string_view value);
  void begin_part();
  void fail(MultipartStatus status);

  const std::string delimiter_;       // CRLF "--" boundary "--"
  const std::size_t separator_size_;  // of delimiter_, without the last two dashes
  // For each byte value: the shortest distance from such a byte to the end of a separator, if the byte is not that end.
  std::array<std::uint8_t, 256> strides_;
  const MultipartLimits limits_;
  MultipartSink& sink_;
  MultipartStatus status_ = MultipartStatus::ok;
  State state_ = State::preamble;
  std::size_t matched_ = 0;  // how much of delimiter_ the latest input ends with; held back
  std::size_t unsent_ = 0;   // how much of that was never in the input: see expect_content
  std::size_t count_ = 0;    // bytes of the current preamble, header block, field or epilogue
  std::size_t parts_ = 0;
  std::size_t lines_ = 0;
  std::string line_;
  PartHeaders headers_;
  bool has_disposition_ = false;
  bool has_type_ = false;
};

}  // namespace restante::http
