// Checks across settings and against the file system, which a single value cannot do. Part of load_config.
#pragma once
#include <string>

#include "server/config/config.h"

namespace restante {

// Throws ConfigError at the first contradiction, unreadable file, or secret that all users of the machine can read.
void check_config(const Config& config);

// For checks of one section in another file.

enum class Privacy { open, secret };

// How a sentence names a setting and its origin.
std::string from(const Config& config, const std::string& key);
// The first kilobyte of the file that a setting names. Throws ConfigError when it cannot be read, or when it must be
// secret and all users can read it.
std::string check_file(const Config& config, const std::string& key, const std::string& path, Privacy privacy);
void check_pem(const Config& config, const std::string& key, const std::string& path, Privacy privacy);

}  // namespace restante
