// The server's key, under which inbound secrets are sealed: 32 random bytes in <data>/server.key, made at first start,
// or of a secret that servers without a common data directory are given. Whoever has it and the database can read them;
// without it they are made anew.
#pragma once
#include <filesystem>
#include <string>

#include "base/log.h"
#include "base/seal.h"

namespace restante {

// Of `given` unless it is empty; then no file is looked at. The log names the file when it is made. Throws
// std::runtime_error with a sentence when the file cannot be used, is readable by others or does not hold 32 bytes.
SealKey server_key(const std::string& given, const std::filesystem::path& data, Log& log);

}  // namespace restante
