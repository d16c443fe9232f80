// Settings: the one list of everything that can be configured. The TOML reader, the variables, the flags, `restante
// config`, its --example and the completion all follow from it; a new setting is one line in the settings_….cpp that
// has its section.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/config.h"
#include "server/config_values.h"

namespace restante {

struct Setting {
  std::string key;                                        // dotted, as in TOML: "timeouts.header"
  std::string help;                                       // what it does and what breaks when it is wrong
  std::function<void(Config&, const ConfigValue&)> read;  // throws BadValue
  std::function<std::string(const Config&)> print;        // as a TOML value; of a secret only its default
  std::string flag{};   // its own flag, "--listen"; most have none and are reached by --set
  std::string shape{};  // the flag's argument in --help: "DIR"; empty = the flag is a switch
  bool secret = false;  // never shown, and no flag: they show in `ps`
  bool in_file = true;  // a secret only in a file that not everybody can read; files are copied about, so not all are
  bool list = false;    // its flag may be repeated
};

const std::vector<Setting>& settings();
const Setting* find_setting(std::string_view key);
std::vector<std::string> setting_keys();             // those that may stand in a file, in the order of the list
std::string environment_name(std::string_view key);  // "timeouts.header" → "RESTANTE_TIMEOUTS_HEADER"

// How a message names a setting that was given: "tls.key in restante.toml:3", "--listen", "RESTANTE_DATA".
std::string spelled(const std::string& key, const std::string& origin);

// Names no setting has but which other parts of Restante read, so that they are not taken for typos.
const std::vector<std::string>& other_variables();

}  // namespace restante
