// The kinds of settings, each one line of a list: how a text, a number, a duration is read from a value, bounded and
// printed, given access to its field. Also the sections that settings.cpp joins.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/settings/settings.h"

namespace restante {

// Accesses one field of a const or a mutable Config.
#define RESTANTE_FIELD(field) [](auto& c) -> auto& { return c.field; }

Setting text(std::string key, auto at, std::string help, std::string (*parse)(const std::string&)) {
  return {std::move(key), std::move(help),
          [at, parse](Config& c, const ConfigValue& v) { at(c) = parse(read_text(v)); },
          [at](const Config& c) { return toml_string(at(c)); }};
}

Setting flag(std::string key, auto at, std::string help) {
  return {std::move(key), std::move(help), [at](Config& c, const ConfigValue& v) { at(c) = read_flag(v); },
          [at](const Config& c) -> std::string { return at(c) ? "true" : "false"; }};
}

Setting number(std::string key, auto at, std::uint64_t low, std::uint64_t high, std::string help) {
  const auto read = [at, low, high](Config& c, const ConfigValue& v) {
    at(c) = static_cast<std::remove_reference_t<decltype(at(c))>>(read_number(v, low, high));
  };
  return {std::move(key), std::move(help), read, [at](const Config& c) { return fmt::format("{}", at(c)); }};
}

// Fields of whole seconds refuse fractions instead of rounding them.
Setting duration(std::string key, auto at, std::chrono::milliseconds low, std::chrono::milliseconds high,
                 std::string help) {
  const auto read = [at, low, high](Config& c, const ConfigValue& v) {
    using Field = std::remove_reference_t<decltype(at(c))>;
    const auto given = read_duration(v);
    if (given < low || given > high) {
      throw BadValue(fmt::format("must be from {} to {}, not {}", print_duration(low), print_duration(high),
                                 print_duration(given)));
    }
    at(c) = std::chrono::duration_cast<Field>(given);
    if (at(c) != given) throw BadValue(fmt::format("must be whole seconds, not {}", print_duration(given)));
  };
  return {std::move(key), std::move(help), read, [at](const Config& c) { return toml_string(print_duration(at(c))); }};
}

Setting list(std::string key, auto at, std::string help, std::string (*parse)(const std::string&)) {
  const auto read = [at, parse](Config& c, const ConfigValue& v) {
    std::vector<std::string> items;
    for (const auto& item : read_list(v)) items.push_back(parse(item));
    at(c) = std::move(items);
  };
  return {std::move(key), std::move(help), read, [at](const Config& c) { return toml_list(at(c)); }};
}

// The names are in the order of the enumerators.
Setting choice(std::string key, auto at, std::vector<std::string> names, std::string help) {
  const auto read = [at, names](Config& c, const ConfigValue& v) {
    using Field = std::remove_reference_t<decltype(at(c))>;
    at(c) = static_cast<Field>(std::ranges::find(names, read_choice(v, names)) - names.begin());
  };
  return {std::move(key), std::move(help), read,
          [at, names](const Config& c) { return toml_string(names.at(static_cast<std::size_t>(at(c)))); }};
}

inline Setting with_flag(Setting setting, std::string spelled, std::string shape) {
  setting.flag = std::move(spelled);
  setting.shape = std::move(shape);
  return setting;
}

inline std::string any_text(const std::string& text) { return text; }

std::vector<Setting> general_settings();
std::vector<Setting> edge_settings();    // tls, threads, limits, timeouts, log, metrics, access
std::vector<Setting> upload_settings();  // and storage
std::vector<Setting> store_settings();   // postgres, s3
std::vector<Setting> agent_settings();   // presence, activity, delegations, push

}  // namespace restante
