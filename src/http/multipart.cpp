#include "http/multipart.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "http/media_type.h"

namespace restante::http {
namespace {

bool is_padding(char c) { return c == ' ' || c == '\t'; }

bool is_field_name_char(char c) {
  return is_alpha(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

MultipartParser::MultipartParser(std::string_view boundary, MultipartSink& sink, const MultipartLimits& limits)
    : delimiter_("\r\n--" + std::string(boundary) + "--"),
      separator_size_(delimiter_.size() - 2),
      limits_(limits),
      sink_(sink) {
  assert(is_boundary(boundary));
  strides_.fill(static_cast<std::uint8_t>(separator_size_));
  for (std::size_t i = 0; i + 1 < separator_size_; ++i) {
    strides_[static_cast<unsigned char>(delimiter_[i])] = static_cast<std::uint8_t>(separator_size_ - 1 - i);
  }
  expect_content(State::preamble);
}

MultipartStatus MultipartParser::feed(std::string_view bytes) {
  while (!bytes.empty() && status_ == MultipartStatus::ok) {
    std::size_t used = 0;
    switch (state_) {
      case State::preamble:
      case State::body:
        used = read_data(bytes);
        break;
      case State::headers:
        used = read_headers(bytes);
        break;
      case State::epilogue:
        used = read_epilogue(bytes);
        break;
      default:
        used = read_line_end(bytes);
        break;
    }
    bytes.remove_prefix(used);
  }
  return status_;
}

MultipartStatus MultipartParser::finish() {
  if (state_ != State::closing && state_ != State::epilogue) fail(MultipartStatus::malformed);
  return status_;
}

void MultipartParser::fail(MultipartStatus status) {
  if (status_ == MultipartStatus::ok) status_ = status;
}

// A delimiter begins with the line end before it. At the start of the body that line end does not exist, and after a
// blank line it has been read already (RFC 2046 lets a part end there). Both therefore begin as if it had just been
// matched.
void MultipartParser::expect_content(State state) {
  state_ = state;
  matched_ = unsent_ = 2;
  count_ = 0;
}

// Compares `in` from `at` on with the rest of the delimiter, and moves `at` behind the bytes that matched.
MultipartParser::Match MultipartParser::match(std::string_view in, std::size_t& at) {
  for (; at < in.size(); ++at) {
    if (matched_ == separator_size_ && (is_padding(in[at]) || in[at] == '\r' || in[at] == '\n'))
      return Match::separator;
    if (in[at] != delimiter_[matched_]) return Match::none;
    if (++matched_ == delimiter_.size()) {
      ++at;
      return Match::closing;
    }
  }
  return Match::partial;
}

// The first position in `in`, from `at` on, at which a delimiter can begin: a whole separator, or the CR of one that
// may continue in the next piece. As in Horspool's algorithm most bytes are skipped: content rarely contains the
// separator's last byte.
std::size_t MultipartParser::find_start(std::string_view in, std::size_t at) const {
  const std::string_view separator = std::string_view(delimiter_).substr(0, separator_size_);
  while (in.size() - at >= separator.size()) {
    const char last = in[at + separator.size() - 1];
    if (last == separator.back() && in[at] == '\r' && in.substr(at, separator.size()) == separator) return at;
    at += strides_[static_cast<unsigned char>(last)];
  }
  return in.find('\r', at);
}

// In a delimiter CR is only the first byte. So after a mismatch no earlier byte can begin another delimiter, and every
// byte is read twice at most. Content is passed on once per piece, however many near misses it contains.
std::size_t MultipartParser::read_data(std::string_view in) {
  std::size_t at = 0;
  if (matched_ > 0) {
    const std::size_t held = matched_;
    const Match found = match(in, at);
    if (found == Match::partial) return in.size();
    if (found != Match::none) {
      end_content(found);
      return at;
    }
    matched_ = 0;
    if (!deliver(std::string_view(delimiter_).substr(unsent_, held - unsent_))) return at;
  }
  unsent_ = 0;
  for (;;) {
    const std::size_t start = find_start(in, at);
    if (start == std::string_view::npos) {
      deliver(in);
      return in.size();
    }
    at = start;
    const Match found = match(in, at);
    if (found == Match::none) {
      matched_ = 0;
      continue;
    }
    if (deliver(in.substr(0, start)) && found != Match::partial) end_content(found);
    return at;
  }
}

// A field is cut exactly at its limit before it fails, so that the sink's events do not depend on the pieces.
bool MultipartParser::deliver(std::string_view span) {
  const bool preamble = state_ == State::preamble;
  const bool limited = preamble || !headers_.filename;
  const std::size_t limit = preamble ? limits_.preamble_bytes : limits_.field_bytes;
  const std::string_view allowed = limited ? span.substr(0, limit - count_) : span;
  if (limited) count_ += allowed.size();
  if (!preamble && !allowed.empty() && !sink_.part_data(allowed)) fail(MultipartStatus::stopped);
  if (allowed.size() < span.size())
    fail(preamble ? MultipartStatus::preamble_too_large : MultipartStatus::field_too_large);
  return status_ == MultipartStatus::ok;
}

void MultipartParser::end_content(Match delimiter) {
  const bool part = state_ == State::body;
  state_ = delimiter == Match::closing ? State::closing : State::separator;
  count_ = 0;
  if (part && !sink_.part_end()) fail(MultipartStatus::stopped);
}

// The rest of a delimiter's line: padding, then CRLF. Endless padding is refused like an endless header.
std::size_t MultipartParser::read_line_end(std::string_view in) {
  const char c = in.front();
  if (state_ == State::separator && c == '\r') {
    state_ = State::separator_lf;
  } else if (state_ == State::closing && c == '\r') {
    state_ = State::closing_lf;
  } else if (state_ == State::separator_lf && c == '\n') {
    begin_headers();
  } else if (state_ == State::closing_lf && c == '\n') {
    state_ = State::epilogue;
    count_ = 0;
  } else if (state_ == State::separator_lf || state_ == State::closing_lf || !is_padding(c) ||
             ++count_ > limits_.header_bytes) {
    fail(MultipartStatus::malformed);
  }
  return 1;
}

void MultipartParser::begin_headers() {
  if (++parts_ > limits_.parts) fail(MultipartStatus::too_many_parts);
  state_ = State::headers;
  count_ = lines_ = 0;
  line_.clear();
  headers_ = {};
  has_disposition_ = has_type_ = false;
}

std::size_t MultipartParser::read_headers(std::string_view in) {
  const std::size_t end = in.find('\n');
  const std::size_t used = end == std::string_view::npos ? in.size() : end + 1;
  if (used > limits_.header_bytes - count_) {
    fail(MultipartStatus::headers_too_large);
    return used;
  }
  count_ += used;
  line_.append(in.substr(0, used));
  if (end != std::string_view::npos) end_header_line();
  return used;
}

void MultipartParser::end_header_line() {
  if (!line_.ends_with("\r\n")) return fail(MultipartStatus::malformed);
  line_.resize(line_.size() - 2);
  if (line_.empty()) return begin_part();
  if (++lines_ > limits_.header_lines) return fail(MultipartStatus::headers_too_large);
  read_header(line_);
  line_.clear();
}

void MultipartParser::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  const bool readable = colon != std::string_view::npos && !name.empty() &&
                        std::ranges::all_of(name, is_field_name_char) && line.find('\r') == std::string_view::npos &&
                        line.find('\0') == std::string_view::npos;
  if (!readable) return fail(MultipartStatus::malformed);
  const std::string_view value = trim(line.substr(colon + 1));
  if (equal_ignoring_case(name, "content-disposition")) {
    read_disposition(value);
  } else if (equal_ignoring_case(name, "content-type")) {
    if (std::exchange(has_type_, true)) return fail(MultipartStatus::malformed);
    headers_.content_type = value;
  }
}

void MultipartParser::read_disposition(std::string_view value) {
  std::optional<ContentDisposition> disposition = parse_content_disposition(value);
  const bool usable = disposition && disposition->type == "form-data" && disposition->name;
  if (!usable || std::exchange(has_disposition_, true)) return fail(MultipartStatus::malformed);
  headers_.name = std::move(*disposition->name);
  headers_.filename = std::move(disposition->filename);
  if (headers_.filename && headers_.filename->size() > limits_.filename_bytes) fail(MultipartStatus::filename_too_long);
}

void MultipartParser::begin_part() {
  if (!has_disposition_) return fail(MultipartStatus::malformed);
  expect_content(State::body);
  if (!sink_.part_begin(headers_)) fail(MultipartStatus::stopped);
}

std::size_t MultipartParser::read_epilogue(std::string_view in) {
  if (in.size() > limits_.epilogue_bytes - count_)
    fail(MultipartStatus::epilogue_too_large);
  else
    count_ += in.size();
  return in.size();
}

}  // namespace restante::http
