// Secret files: what the server makes once and keeps beside its data, readable by its owner only.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace restante {

// Complete and synced under its name, or not there at all: a crash must not leave half a secret. Replaces what is
// there. Throws std::runtime_error with a sentence.
void write_secret_file(const std::filesystem::path& file, std::string_view bytes);
// The same for one that is not there yet. False: it is, perhaps since just now; servers that share their data start at
// the same time.
bool create_secret_file(const std::filesystem::path& file, std::string_view bytes);

// At most 4 KiB of it. Throws std::runtime_error with a sentence when it cannot be read, or when others can read it
// too; `remedy` ends that sentence: what to do besides chmod 600.
std::string read_secret_file(const std::filesystem::path& file, std::string_view remedy);

}  // namespace restante
