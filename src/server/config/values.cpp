#include "server/config/values.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"
#include "http/addresses.h"
#include "http/url.h"

namespace restante {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::int64_t factor;  // in milliseconds
};
constexpr std::array<Unit, 5> kUnits{{{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};

std::string describe(const ConfigValue& value) {
  struct {
    std::string operator()(const BareText& v) const { return in_quotes(v.text); }
    std::string operator()(const std::string& v) const { return in_quotes(v); }
    std::string operator()(std::int64_t v) const { return fmt::format("the number {}", v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::vector<std::string>&) const { return "a list"; }
    std::string operator()(const ForeignType& v) const { return v.name; }
  } words;
  return std::visit(words, value);
}

[[noreturn]] void refuse(std::string_view wanted, const ConfigValue& value) {
  throw BadValue(fmt::format("must be {}, not {}", wanted, describe(value)));
}

[[noreturn]] void refuse_text(std::string_view wanted, const std::string& text) { refuse(wanted, ConfigValue{text}); }

// The text of a string, a variable or a flag; nothing for the other types.
const std::string* text_of(const ConfigValue& value) {
  if (const auto* bare = std::get_if<BareText>(&value)) return &bare->text;
  return std::get_if<std::string>(&value);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto number = parse_unsigned(text);
  if (!number || *number > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

// 4, 6, or 0 when it is not a literal address.
int address_family(const std::string& text) {
  std::array<unsigned char, 16> bytes;
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return 4;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return 6;
  return 0;
}

// Splits host:port; the host of [::1]:80 is returned without brackets. No port = an empty second half.
std::optional<std::pair<std::string, std::string>> split_host_port(const std::string& text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string::npos) return std::nullopt;
    const std::string host = text.substr(1, close - 1), rest = text.substr(close + 1);
    if (address_family(host) != 6 || (!rest.empty() && !rest.starts_with(':')) || rest == ":") return std::nullopt;
    return std::pair{host, rest.empty() ? rest : rest.substr(1)};
  }
  const auto colon = text.find(':');
  if (colon == std::string::npos) return std::pair{text, std::string()};
  if (colon + 1 == text.size()) return std::nullopt;
  return std::pair{text.substr(0, colon), text.substr(colon + 1)};
}

bool is_host_name(const std::string& host) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_'; };
  return !host.empty() && host.size() <= 253 && host.front() != '.' && std::ranges::all_of(host, fits);
}

// An optional port, and a name or address before it.
bool is_authority(const std::string& text) {
  const auto parts = split_host_port(text);
  if (!parts) return false;
  const auto& [host, port] = *parts;
  if (!port.empty() && parse_port(port).value_or(0) == 0) return false;
  return text.starts_with('[') || is_host_name(host);
}

}  // namespace

std::string read_text(const ConfigValue& value) {
  const auto* text = text_of(value);
  if (!text) refuse("a string in quotes", value);
  if (has_control(*text)) refuse("text without control characters", value);
  return *text;
}

bool read_flag(const ConfigValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* bare = std::get_if<BareText>(&value)) {
    if (bare->text == "true") return true;
    if (bare->text == "false") return false;
  }
  refuse("true or false (without quotes)", value);
}

std::uint64_t read_number(const ConfigValue& value, std::uint64_t low, std::uint64_t high) {
  std::optional<std::uint64_t> number;
  if (const auto* given = std::get_if<std::int64_t>(&value); given && *given >= 0) number = *given;
  if (const auto* bare = std::get_if<BareText>(&value)) number = parse_unsigned(bare->text);
  if (!number || *number < low || *number > high) {
    refuse(fmt::format("a whole number from {} to {}", low, high), value);
  }
  return *number;
}

std::vector<std::string> read_list(const ConfigValue& value) {
  std::vector<std::string> items;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    items = *list;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    items = {*text};
  } else if (const auto* bare = std::get_if<BareText>(&value)) {
    if (bare->text.empty()) return items;
    for (const auto item : split(bare->text, ',')) items.emplace_back(trim(item));
  } else {
    refuse("a list of strings", value);
  }
  if (std::ranges::any_of(items, &std::string::empty)) throw BadValue("must not hold an empty entry");
  if (std::ranges::any_of(items, has_control)) throw BadValue("must not hold control characters");
  return items;
}

milliseconds read_duration(const ConfigValue& value) {
  constexpr std::string_view kWanted = R"(a duration with its unit such as "250ms", "10s", "30m" or "24h")";
  constexpr std::int64_t kLongest = 3'650ll * 86'400'000;  // ten years: a longer duration is a typo
  const auto* text = text_of(value);
  if (!text) refuse(kWanted, value);
  const auto digits_end = text->find_first_not_of("0123456789", text->starts_with('-') ? 1 : 0);
  if (digits_end == std::string::npos) refuse(kWanted, value);
  const auto number = parse_signed(std::string_view(*text).substr(0, digits_end));
  const auto unit = std::ranges::find(kUnits, std::string_view(*text).substr(digits_end), &Unit::name);
  if (!number || unit == kUnits.end()) refuse(kWanted, value);
  if (*number > kLongest / unit->factor || *number < -kLongest / unit->factor)
    refuse("a duration below ten years", value);
  return milliseconds(*number * unit->factor);
}

std::string read_choice(const ConfigValue& value, const std::vector<std::string>& choices) {
  const auto* text = text_of(value);
  if (!text || std::ranges::find(choices, *text) == choices.end()) {
    refuse(fmt::format("one of {}", fmt::join(choices, ", ")), value);
  }
  return *text;
}

net::Endpoint parse_endpoint(const std::string& text) {
  const auto parts = split_host_port(text);
  if (!parts && address_family(text) == 6) {
    refuse_text(fmt::format("an address in brackets and a port such as \"[{}]:8080\"", text), text);
  }
  constexpr std::string_view kWanted = R"(an address and a port such as "127.0.0.1:8080" or "[::1]:8080")";
  if (!parts) refuse_text(kWanted, text);
  const auto& [host, port] = *parts;
  if (host == "localhost") refuse_text("a literal address: write 127.0.0.1 or [::1]", text);
  if (host.empty()) refuse_text("an address and a port: write 0.0.0.0 in front to listen everywhere", text);
  const auto number = parse_port(port);
  if (address_family(host) == 0 || !number) refuse_text(kWanted, text);
  return {host, *number};
}

std::string parse_network(const std::string& text) {
  constexpr std::string_view kWanted = R"(an address or a network such as "10.0.0.5" or "10.0.0.0/8")";
  if (!http::Network::parse(text)) refuse_text(kWanted, text);
  return text;
}

std::string parse_host(const std::string& text) {
  if (!is_authority(text)) refuse_text(R"(host names such as "post.example.org", without scheme, path or "*")", text);
  return lower_case(text);
}

std::string parse_public_url(const std::string& text) {
  if (text.empty()) return text;
  // The value is not repeated when it contains an @: the text before it may be a password.
  if (text.find('@') != std::string::npos) throw BadValue("must not hold a user name or password");
  std::string url = lower_case(text);
  if (url.ends_with('/')) url.pop_back();
  const auto scheme = url.starts_with("https://") ? 8u : url.starts_with("http://") ? 7u : 0u;
  if (scheme == 0 || !is_authority(url.substr(scheme))) {
    refuse_text(R"(scheme and host alone, such as "https://post.example.org")", text);
  }
  return url;
}

bool is_loopback(const std::string& host) {
  return http::is_loopback(host) || host == "localhost" || host.ends_with(".localhost");
}

std::string print_endpoint(const net::Endpoint& endpoint) {
  return fmt::format("{}:{}", http::host_in_brackets(endpoint.host), endpoint.port);
}

std::string print_duration(milliseconds value) {
  constexpr std::size_t kHours = 3;  // days are read but not printed: people recognise "24h"
  for (std::size_t i = kHours; i > 0; --i) {
    const auto& [name, factor] = kUnits[i];
    if (value.count() != 0 && value.count() % factor == 0) return fmt::format("{}{}", value.count() / factor, name);
  }
  return value.count() == 0 ? "0s" : fmt::format("{}ms", value.count());
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_list(const std::vector<std::string>& items) {
  std::vector<std::string> parts;
  for (const auto& item : items) parts.push_back(toml_string(item));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > kShown ? "…\"" : "\"");
}

}  // namespace restante
