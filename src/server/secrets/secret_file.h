// Secret files: made once by the server and stored beside its data, readable by their owner only.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/seal.h"

namespace restante {

// The file is complete and synced under its name, or does not exist: a crash must not leave half a secret. Replaces an
// existing file. Throws std::runtime_error with a sentence.
void write_secret_file(const std::filesystem::path& file, std::string_view bytes);
// The same for a file that does not exist yet. Returns false when it exists, perhaps since a moment ago: servers that
// share their data may start at the same time.
bool create_secret_file(const std::filesystem::path& file, std::string_view bytes);

// At most 4 KiB of it. Throws std::runtime_error with a sentence when it cannot be read, or when others can read it
// too; `remedy` ends that sentence with what to do besides chmod 600.
std::string read_secret_file(const std::filesystem::path& file, std::string_view remedy);

// The server's key, under which inbound secrets are sealed: 32 random bytes in <data>/server.key, made at first start,
// or derived from a secret that servers without a common data directory are given; then no file is read. A person with
// the key and the database can read the secrets; without the key new ones are made. The log names the file when it is
// made. Throws std::runtime_error with a sentence when the file cannot be used, is readable by others or does not
// contain 32 bytes.
SealKey server_key(const std::string& given, const std::filesystem::path& data, Log& log);

}  // namespace restante
