// How much room the disks have that the server writes to.
#pragma once
#include <cstdint>
#include <filesystem>

namespace restante {

// Bytes that may still be written where this path lies, as far as its file system tells. Of a path that cannot be asked
// about as many as there can be: the write itself will tell.
std::uint64_t free_bytes(const std::filesystem::path& path);

}  // namespace restante
