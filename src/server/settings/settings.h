// Settings: the one list of everything that can be configured. The TOML reader, the variables, the flags, `restante
// config`, its --example and the completion all use it; a new setting is one line in the file of its section.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config.h"
#include "server/config/values.h"

namespace restante {

struct Setting {
  std::string key;                                        // dotted, as in TOML: "timeouts.header"
  std::string help;                                       // what it does and what breaks when it is wrong
  std::function<void(Config&, const ConfigValue&)> read;  // throws BadValue
  std::function<std::string(const Config&)> print;        // as a TOML value; for a secret only its default
  std::string flag{};   // its own flag, "--listen"; most have none and are set by --set
  std::string shape{};  // the flag's argument in --help: "DIR"; empty = the flag is a switch
  bool secret = false;  // never shown, and no flag: `ps` would show it
  bool in_file = true;  // whether a file may contain it; a secret only in a private file, and not every secret
  bool list = false;    // its flag may be repeated
};

const std::vector<Setting>& settings();
const Setting* find_setting(std::string_view key);
std::vector<std::string> setting_keys();             // those that may be in a file, in the order of the list
std::string environment_name(std::string_view key);  // "timeouts.header" → "RESTANTE_TIMEOUTS_HEADER"

// How a message names a setting and its origin: "tls.key in restante.toml:3", "--listen", "RESTANTE_DATA".
std::string spelled(const std::string& key, const std::string& origin);

// Variables that are not settings but that other parts of Restante read, so that they are not taken for typos.
const std::vector<std::string>& other_variables();

}  // namespace restante
