// Config values: the small grammars of the configuration (durations, addresses, lists) between text, TOML and C++. A
// value from a TOML file has its type, one from a variable or a flag is bare text; the readers take both and throw
// BadValue with what the setting must be ("must be …"). Pure functions, no key names: the caller adds those.
#pragma once
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "net/options.h"

namespace restante {

// Text of a variable or flag: "true", "8", "a,b" are a boolean, a number and a list if the setting is one.
struct BareText {
  std::string text;
};

// A TOML type that no setting has (a float, a date, a table, …), named for the error message.
struct ForeignType {
  std::string name;
};

using ConfigValue = std::variant<BareText, std::string, std::int64_t, bool, std::vector<std::string>, ForeignType>;

// The rest of the sentence "<key> from <origin> …": what the value must be and what it is.
class BadValue final : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_text(const ConfigValue& value);
bool read_flag(const ConfigValue& value);
std::uint64_t read_number(const ConfigValue& value, std::uint64_t low, std::uint64_t high);
std::vector<std::string> read_list(const ConfigValue& value);       // a single string is a list of one
std::chrono::milliseconds read_duration(const ConfigValue& value);  // "250ms", "10s", "30m", "24h", "7d", "-1s"
std::string read_choice(const ConfigValue& value, const std::vector<std::string>& choices);

net::Endpoint parse_endpoint(const std::string& text);  // "127.0.0.1:8080", "[::1]:0"; a literal address, always a port
std::string parse_network(const std::string& text);     // an address or CIDR, as given
std::string parse_host(const std::string& text);        // host or host:port for the allow-list, lower-cased
std::string parse_public_url(const std::string& text);  // "" or scheme://host[:port], without the closing slash

bool is_loopback(const std::string& host);  // 127/8, ::1, ::ffff:127/104, localhost

std::string print_endpoint(const net::Endpoint& endpoint);
std::string print_duration(std::chrono::milliseconds value);  // in the largest unit that is exact: "30m", "250ms"
std::string toml_string(std::string_view text);
std::string toml_list(const std::vector<std::string>& items);

// For messages: in double quotes, one line, without control bytes, shortened when very long.
std::string in_quotes(std::string_view text);

// "Did you mean" for keys, variables, commands and flags: the candidate a person most likely meant, or empty when none
// is close. A dotted candidate also matches by its last word, so that `header` finds `timeouts.header`.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);  // nearest.cpp

}  // namespace restante
