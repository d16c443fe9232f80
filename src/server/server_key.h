// The server's key: 32 random bytes in <data>/server.key, made at first start, under which inbound secrets are sealed.
// Whoever has it and the database can read them; without it they are made anew.
#pragma once
#include <filesystem>

#include "base/log.h"
#include "base/seal.h"

namespace restante {

// The log names the file when it is made. Throws std::runtime_error with a sentence when the file cannot be used, is
// readable by others or does not hold 32 bytes.
SealKey server_key(const std::filesystem::path& data, Log& log);

}  // namespace restante
