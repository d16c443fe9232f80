#include "store/s3/xml.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace restante::s3 {
namespace {

constexpr std::size_t kDepth = 16;
constexpr std::size_t kElements = 50'000;  // a page of a thousand objects has about eight thousand

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name_byte(char c) {
  return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string local_name(std::string_view name) { return std::string(name.substr(name.rfind(':') + 1)); }

// False for a code that is not a character of XML.
bool append_character(std::string& out, std::uint32_t code) {
  const bool control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
  if (control || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return false;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6)), tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12)), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18)), tail(12), tail(6), tail(0);
  }
  return true;
}

// "#65" or "#x41".
bool append_numbered(std::string& out, std::string_view reference) {
  const bool hexadecimal = reference.starts_with("#x");
  const auto digits = reference.substr(hexadecimal ? 2 : 1);
  if (digits.empty() || digits.size() > 8) return false;
  std::uint64_t code = 0;
  for (const char c : digits) {
    const int digit = hexadecimal ? hex_digit(c) : (is_digit(c) ? c - '0' : -1);
    if (digit < 0) return false;
    code = code * (hexadecimal ? 16 : 10) + static_cast<unsigned>(digit);
  }
  return code <= 0x10ffff && append_character(out, static_cast<std::uint32_t>(code));
}

bool append_entity(std::string& out, std::string_view name) {
  static constexpr std::pair<std::string_view, char> known[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  if (name.starts_with('#')) return append_numbered(out, name);
  for (const auto& [entity, character] : known) {
    if (entity == name) return out += character, true;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(std::string_view document) : rest_(document) {}

  std::optional<XmlElement> read() {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
    while (!rest_.empty()) {
      if (!(rest_.front() == '<' ? markup() : characters())) return std::nullopt;
    }
    return open_.empty() ? std::move(root_) : std::nullopt;
  }

 private:
  bool markup() {
    if (rest_.starts_with("<?")) return skip("<?", "?>");
    if (rest_.starts_with("<!--")) return skip("<!--", "-->");
    if (rest_.starts_with("<![CDATA[")) return literal();
    if (rest_.starts_with("<!")) return false;
    return rest_.starts_with("</") ? end_tag() : start_tag();
  }

  bool skip(std::string_view begin, std::string_view end) {
    const auto at = rest_.find(end, begin.size());
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }

  bool literal() {
    constexpr std::string_view begin = "<![CDATA[";
    const auto end = rest_.find("]]>", begin.size());
    if (end == std::string_view::npos || open_.empty()) return false;
    open_.back().text += rest_.substr(begin.size(), end - begin.size());
    rest_.remove_prefix(end + 3);
    return true;
  }

  bool characters() {
    const auto piece = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(piece.size());
    if (open_.empty()) return std::all_of(piece.begin(), piece.end(), is_blank);
    return decode(piece, open_.back().text);
  }

  static bool decode(std::string_view piece, std::string& out) {
    while (!piece.empty()) {
      const auto ampersand = std::min(piece.find('&'), piece.size());
      out += piece.substr(0, ampersand);
      piece.remove_prefix(ampersand);
      if (piece.empty()) return true;
      const auto semicolon = piece.find(';');
      if (semicolon == std::string_view::npos || !append_entity(out, piece.substr(1, semicolon - 1))) return false;
      piece.remove_prefix(semicolon + 1);
    }
    return true;
  }

  std::string_view name() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name_byte);
    const auto found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    return found;
  }

  bool skip_blanks() {
    const auto before = rest_.size();
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return rest_.size() < before;
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool attribute() {
    if (name().empty()) return false;
    skip_blanks();
    if (!take('=')) return false;
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '"' && quote != '\'') return false;
    const auto end = rest_.find(quote, 1);
    if (end == std::string_view::npos || rest_.substr(0, end).find('<') != std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool start_tag() {
    rest_.remove_prefix(1);
    const auto tag = name();
    if (tag.empty() || root_ || open_.size() == kDepth || ++elements_ > kElements) return false;
    while (skip_blanks() && !rest_.starts_with('>') && !rest_.starts_with('/')) {
      if (!attribute()) return false;
    }
    const bool closed = take('/');
    if (!take('>')) return false;
    tags_.push_back(tag);
    open_.push_back({local_name(tag), {}, {}});
    return !closed || close();
  }

  bool end_tag() {
    rest_.remove_prefix(2);
    const auto tag = name();
    skip_blanks();
    return take('>') && !tags_.empty() && tags_.back() == tag && close();
  }

  bool close() {
    auto element = std::move(open_.back());
    open_.pop_back();
    tags_.pop_back();
    if (open_.empty()) {
      root_ = std::move(element);
    } else {
      open_.back().children.push_back(std::move(element));
    }
    return true;
  }

  std::string_view rest_;
  std::vector<XmlElement> open_;        // from the root to the current element
  std::vector<std::string_view> tags_;  // their names as they were written
  std::optional<XmlElement> root_;
  std::size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  const auto at = std::find_if(children.begin(), children.end(), [&](const auto& each) { return each.name == child; });
  return at == children.end() ? nullptr : &*at;
}

std::string_view XmlElement::text_of(std::string_view child) const {
  const auto* found = find(child);
  return found ? std::string_view(found->text) : std::string_view();
}

std::optional<XmlElement> parse_xml(std::string_view document) {
  if (!is_valid_utf8(document) || document.find('\0') != std::string_view::npos) return std::nullopt;
  return Reader(document).read();
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\r':  // an XML reader would change it to a newline
        out += "&#13;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace restante::s3
