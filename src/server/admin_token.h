// The admin token: given from outside, or made at first start and kept in <data>/admin.token, readable by its owner
// only.
#pragma once
#include <filesystem>
#include <string>

#include "base/log.h"

namespace restante {

// `given` wins when it is not empty. The log names the file, never the token. Throws std::runtime_error with a sentence
// when the file cannot be used or is readable by others.
std::string admin_token(const std::string& given, const std::filesystem::path& data, Log& log);

// Writes a new one in its place and gives it. Throws Unavailable; the old one is then still there.
std::string replace_admin_token(const std::filesystem::path& data, Log& log);

}  // namespace restante
