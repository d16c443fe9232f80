// The server's key, under which inbound secrets are sealed: 32 random bytes in <data>/server.key, made at first start,
// or derived from a secret that servers without a common data directory are given. A person with the key and the
// database can read the secrets; without the key new ones are made.
#pragma once
#include <filesystem>
#include <string>

#include "base/log.h"
#include "base/seal.h"

namespace restante {

// Derived from `given` unless that is empty; then no file is read. The log names the file when it is made. Throws
// std::runtime_error with a sentence when the file cannot be used, is readable by others or does not contain 32 bytes.
SealKey server_key(const std::string& given, const std::filesystem::path& data, Log& log);

}  // namespace restante
