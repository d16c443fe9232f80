// The TOML side of the configuration: a file is converted into dotted keys with their line. The only user of toml++,
// which takes seconds to compile.
#pragma once
#include <string>
#include <vector>

#include "server/config/values.h"

namespace restante {

struct ConfigEntry {
  std::string key;
  ConfigValue value;
  std::string origin;  // "path:line"
};

// Throws ConfigError when the file cannot be read, is not TOML, or sets something that is not in the list of settings.
std::vector<ConfigEntry> read_toml_file(const std::string& path);

// The same from memory; `name` replaces the path in messages.
std::vector<ConfigEntry> read_toml(const std::string& text, const std::string& name);

}  // namespace restante
