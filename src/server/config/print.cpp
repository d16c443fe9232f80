#include <fmt/format.h>

#include <algorithm>

#include "server/config/config.h"
#include "server/settings/settings.h"

namespace restante {
namespace {

struct Split {
  std::string group;
  std::string name;
};

Split split(const std::string& key) {
  const auto dot = key.find('.');
  if (dot == std::string::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

std::string wrapped(const std::string& text, std::size_t width) {
  std::string out, line = "#";
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > width) {
      out += line + '\n';
      line = "#";
    }
    line += ' ' + word;
    at = end + 1;
  }
  return out + line + '\n';
}

// Calls `line` for each setting with its name inside its group, after the group's heading where a new one starts.
template <class Line>
std::string grouped(Line&& line) {
  std::string out, group;
  for (const auto& setting : settings()) {
    auto [its_group, name] = split(setting.key);
    if (its_group != group) out += fmt::format("\n[{}]\n", its_group);
    group = std::move(its_group);
    out += line(setting, name);
  }
  return out;
}

}  // namespace

std::string print_config(const Config& config) {
  return grouped([&](const Setting& setting, const std::string& name) {
    const auto origin = config.origins.find(setting.key);
    const bool given = origin != config.origins.end();
    if (setting.secret) {
      return given ? fmt::format("# {} = ********\n", spelled(setting.key, origin->second)) : std::string();
    }
    auto source = given ? origin->second : std::string();
    std::ranges::replace_if(source, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return fmt::format("{} = {}{}{}\n", name, setting.print(config), given ? "  # " : "", source);
  });
}

std::string example_config() {
  constexpr std::size_t kWidth = 100;
  const Config defaults;
  std::string out =
      "# Restante: every setting with its default. Remove the # in front of what you change, and keep only that: a\n"
      "# default may improve with the next version. Durations are written 250ms, 10s, 30m, 24h, 7d; sizes in bytes.\n"
      "# The same setting as a variable: RESTANTE_ and the key in capitals with _ for the dot, lists with commas\n"
      "# (RESTANTE_LOG_LEVEL=warn); on the command line: --set log.level=warn. Flags win over variables, variables "
      "over "
      "this file.\n";
  out += grouped([&](const Setting& setting, const std::string& name) {
    if (!setting.in_file) {
      return fmt::format("\n{}# Not in this file: set {}.\n", wrapped(setting.help, kWidth),
                         environment_name(setting.key));
    }
    return fmt::format("\n{}#{} = {}\n", wrapped(setting.help, kWidth), name, setting.print(defaults));
  });
  return out;
}

}  // namespace restante
