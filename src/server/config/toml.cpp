#include "server/config/toml.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/config/config.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

namespace restante {
namespace {

std::string named(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list of something else";
    case toml::node_type::floating_point:
      return "a fraction";
    default:
      return "a date or time";
  }
}

ConfigValue value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* array = node.as_array()) {
    std::vector<std::string> items;
    for (const auto& item : *array) {
      if (const auto* text = item.as_string()) items.push_back(text->get());
    }
    if (items.size() == array->size()) return items;
  }
  return ForeignType{named(node.type())};
}

bool is_group(const std::string& key) {
  return std::ranges::any_of(settings(), [&](const Setting& s) { return s.key.starts_with(key + '.'); });
}

[[noreturn]] void refuse_unknown(const std::string& key, const std::string& origin) {
  const auto meant = nearest(key, setting_keys());
  throw ConfigError(fmt::format(
      "unknown setting {} in {}: {}", in_quotes(key), origin,
      meant.empty() ? "remove it (restante config --example lists them all)" : fmt::format("did you mean {}?", meant)));
}

class Flattening {
 public:
  explicit Flattening(std::string name) : name_(std::move(name)) {}

  std::vector<ConfigEntry> entries;

  void add(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string path = prefix + std::string(key.str());
      const auto origin = fmt::format("{}:{}", name_, key.source().begin.line);
      // A quoted key with a dot in it would look like a key of a group and bypass the check for keys that are set
      // twice.
      if (key.str().find('.') != std::string_view::npos) {
        throw ConfigError(fmt::format("unknown setting {} in {}: write a key without quotes", in_quotes(path), origin));
      }
      if (const auto* group = node.as_table(); group && is_group(path)) {
        add(*group, path + '.');
        continue;
      }
      if (is_group(path)) {
        throw ConfigError(
            fmt::format("{} in {} is a group of settings: write [{}] and its settings below", path, origin, path));
      }
      if (!find_setting(path)) refuse_unknown(path, origin);
      entries.push_back({path, value_of(node), origin});
    }
  }

 private:
  std::string name_;
};

}  // namespace

std::vector<ConfigEntry> read_toml(const std::string& text, const std::string& name) {
  try {
    const toml::table table = toml::parse(text, name);
    Flattening flat(name);
    flat.add(table, "");
    return flat.entries;
  } catch (const toml::parse_error& error) {
    const auto origin = fmt::format("{}:{}", name, error.source().begin.line);
    const std::string_view why = error.description();
    const auto doubled = why.find("cannot redefine existing");
    const auto quote = doubled == why.npos ? doubled : why.find('\'', doubled);
    if (quote != why.npos) {
      const auto key = why.substr(quote + 1, why.rfind('\'') - quote - 1);
      throw ConfigError(fmt::format("{} is set a second time in {}: remove one of the two", in_quotes(key), origin));
    }
    std::string reason(why);
    std::ranges::replace_if(reason, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    throw ConfigError(fmt::format("{} is not valid TOML: {}", origin, reason));
  }
}

std::vector<ConfigEntry> read_toml_file(const std::string& path) {
  constexpr std::size_t kLargest = 1024 * 1024;  // a device or a log given by mistake must not fill the memory
  std::ifstream file(path, std::ios::binary);
  const int opened = errno;
  if (!file) {
    throw ConfigError(fmt::format("cannot read the configuration file {}: {}; check --config or RESTANTE_CONFIG",
                                  in_quotes(path), std::strerror(opened)));
  }
  std::string text(kLargest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad())
    throw ConfigError(fmt::format("cannot read the configuration file {}: is it a directory?", in_quotes(path)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargest) {
    throw ConfigError(fmt::format("{} is larger than 1 MiB: it cannot be a configuration file", in_quotes(path)));
  }
  return read_toml(text, path);
}

}  // namespace restante
