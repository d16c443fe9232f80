#include "http/media_type.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/text.h"

namespace restante::http {
namespace {

using Parameters = std::vector<MediaType::Parameter>;

// More than any client sends; a value of nothing but `;` is refused early.
constexpr std::size_t kMaxParameters = 16;
constexpr std::size_t kMaxBoundary = 70;

// How a quoted string is written. rfc: a backslash escapes any character. escaping: it escapes a quote and a backslash;
// any other one is itself. plain: it is always itself.
enum class Dialect { rfc, escaping, plain };

bool one_of(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_token_char(char c) { return is_alnum(c) || one_of("!#$%&'*+-.^_`|~", c); }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool is_unquoted_char(char c, Dialect dialect) {
  if (is_token_char(c)) return true;
  return dialect == Dialect::rfc ? one_of("(),/:=?", c) : static_cast<unsigned char>(c) >= 0x80;
}

const std::string* find_parameter(const Parameters& parameters, std::string_view name) {
  const auto it = std::ranges::find(parameters, name, &MediaType::Parameter::name);
  return it == parameters.end() ? nullptr : &it->value;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_spaces() {
    take_while([](char c) { return c == ' ' || c == '\t'; });
  }

  std::string_view token() { return take_while(is_token_char); }

  // No value when it is empty or the quote is not closed.
  std::optional<std::string> value(Dialect dialect) {
    if (take('"')) return dialect == Dialect::rfc ? rfc_quoted() : disposition_quoted(dialect);
    const std::string_view run = take_while([dialect](char c) { return is_unquoted_char(c, dialect); });
    if (run.empty()) return std::nullopt;
    return std::string(run);
  }

 private:
  template <typename Predicate>
  std::string_view take_while(Predicate wanted) {
    const std::string_view run(rest_.begin(), std::ranges::find_if_not(rest_, wanted));
    rest_.remove_prefix(run.size());
    return run;
  }

  std::optional<std::string> rfc_quoted() {
    std::string out;
    while (!rest_.empty()) {
      if (take('"')) return out;
      take('\\');
      if (rest_.empty() || (is_control(rest_.front()) && rest_.front() != '\t')) return std::nullopt;
      out.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    return std::nullopt;
  }

  std::optional<std::string> disposition_quoted(Dialect dialect) {
    static constexpr std::pair<std::string_view, char> kCodes[] = {{"%22", '"'}, {"%0D", '\r'}, {"%0A", '\n'}};
    static constexpr std::pair<std::string_view, char> kEscapes[] = {{"\\\"", '"'}, {"\\\\", '\\'}};
    std::string out;
    while (!rest_.empty()) {
      if (take('"')) return out;
      if (take_code(kCodes, out) || (dialect == Dialect::escaping && take_code(kEscapes, out))) continue;
      out.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    return std::nullopt;
  }

  // Appends the character that the code at the front stands for, if there is one.
  bool take_code(std::span<const std::pair<std::string_view, char>> codes, std::string& out) {
    for (const auto& [code, decoded] : codes) {
      if (!rest_.starts_with(code)) continue;
      out.push_back(decoded);
      rest_.remove_prefix(code.size());
      return true;
    }
    return false;
  }

  std::string_view rest_;
};

std::optional<Parameters> parse_parameters(Scanner& in, Dialect dialect) {
  Parameters parameters;
  std::size_t semicolons = 0;
  for (in.skip_spaces(); !in.done(); in.skip_spaces()) {
    if (!in.take(';') || ++semicolons > kMaxParameters) return std::nullopt;
    in.skip_spaces();
    std::string name = lower_case(in.token());
    if (name.empty()) continue;  // `a/b;` and `a/b;;c=d` are allowed; anything else here is not a `;` and fails above
    if (!in.take('=') || find_parameter(parameters, name) != nullptr) return std::nullopt;
    std::optional<std::string> value = in.value(dialect);
    if (!value) return std::nullopt;
    parameters.push_back({std::move(name), std::move(*value)});
  }
  return parameters;
}

// RFC 8187: `UTF-8'language'percent-encoded`.
std::optional<std::string> extended_value(std::string_view text) {
  const std::size_t charset = text.find('\'');
  if (charset == std::string_view::npos || !equal_ignoring_case(text.substr(0, charset), "utf-8")) return std::nullopt;
  const std::size_t language = text.find('\'', charset + 1);
  if (language == std::string_view::npos) return std::nullopt;
  const std::string_view encoded = text.substr(language + 1);
  const auto allowed = [](char c) { return is_token_char(c) && !one_of("*'", c); };
  if (encoded.empty() || !std::ranges::all_of(encoded, allowed)) return std::nullopt;
  std::optional<std::string> decoded = percent_decode(encoded);
  return decoded && is_valid_utf8(*decoded) ? decoded : std::nullopt;
}

std::optional<std::string> copy_of(const std::string* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(*text);
}

}  // namespace

const std::string* MediaType::find(std::string_view name) const { return find_parameter(parameters, name); }

std::optional<MediaType> parse_media_type(std::string_view value) {
  Scanner in(value);
  in.skip_spaces();
  MediaType out;
  out.type = lower_case(in.token());
  if (out.type.empty() || !in.take('/')) return std::nullopt;
  out.subtype = lower_case(in.token());
  if (out.subtype.empty()) return std::nullopt;
  std::optional<Parameters> parameters = parse_parameters(in, Dialect::rfc);
  if (!parameters) return std::nullopt;
  out.parameters = std::move(*parameters);
  return out;
}

bool is_boundary(std::string_view text) {
  if (text.empty() || text.size() > kMaxBoundary || text.back() == ' ') return false;
  return std::ranges::all_of(text, [](char c) { return is_alnum(c) || one_of("'()+_,-./:=? ", c); });
}

std::optional<std::string> form_data_boundary(std::string_view content_type) {
  const std::optional<MediaType> media = parse_media_type(content_type);
  if (!media || media->type != "multipart" || media->subtype != "form-data") return std::nullopt;
  const std::string* boundary = media->find("boundary");
  return boundary != nullptr && is_boundary(*boundary) ? copy_of(boundary) : std::nullopt;
}

std::optional<ContentDisposition> parse_content_disposition(std::string_view value) {
  if (std::ranges::any_of(value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; })) return std::nullopt;
  ContentDisposition out;
  std::optional<Parameters> parameters;
  // `name="a\"; filename="b"` of a browser is not well-formed with escapes: the first string would end after
  // `filename=`.
  for (const Dialect dialect : {Dialect::escaping, Dialect::plain}) {
    Scanner in(value);
    in.skip_spaces();
    out.type = lower_case(in.token());
    parameters = parse_parameters(in, dialect);
    if (parameters) break;
  }
  if (out.type.empty() || !parameters) return std::nullopt;
  out.name = copy_of(find_parameter(*parameters, "name"));
  if (const std::string* extended = find_parameter(*parameters, "filename*")) out.filename = extended_value(*extended);
  if (!out.filename) out.filename = copy_of(find_parameter(*parameters, "filename"));
  const auto names_a_file = [](const MediaType::Parameter& parameter) {
    return parameter.name.starts_with("filename*");
  };
  if (!out.filename && std::ranges::any_of(*parameters, names_a_file)) return std::nullopt;
  return out;
}

}  // namespace restante::http
