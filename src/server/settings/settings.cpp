#include "server/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "server/settings/kinds.h"

namespace restante {
namespace {

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (auto* section : {general_settings, edge_settings, upload_settings, store_settings, agent_settings}) {
    for (Setting& setting : section()) all.push_back(std::move(setting));
  }
  return all;
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = all_settings();
  return all;
}

const Setting* find_setting(std::string_view key) {
  const auto found = std::ranges::find(settings(), key, &Setting::key);
  return found == settings().end() ? nullptr : &*found;
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const auto& setting : settings()) {
    if (setting.in_file) keys.push_back(setting.key);
  }
  return keys;
}

std::string environment_name(std::string_view key) {
  std::string name = "RESTANTE_";
  for (const unsigned char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::string spelled(const std::string& key, const std::string& origin) {
  const auto* setting = find_setting(key);
  const bool names_key = origin == environment_name(key) || (setting && origin == setting->flag);
  return names_key ? origin : fmt::format("{} in {}", key, origin);
}

const std::vector<std::string>& other_variables() {
  static const std::vector<std::string> names{"RESTANTE_CONFIG", "RESTANTE_URL", "RESTANTE_TOKEN", "RESTANTE_BINARY",
                                              "RESTANTE_SOURCE"};
  return names;
}

}  // namespace restante
