#include "server/secrets/server_key.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/crypto.h"
#include "server/secrets/secret_file.h"

namespace restante {

SealKey server_key(const std::string& given, const std::filesystem::path& data, Log& log) {
  if (!given.empty()) return sha256(given);
  const std::filesystem::path file = data / "server.key";
  SealKey key{};
  if (!std::filesystem::exists(file)) {
    random_bytes(key);
    if (create_secret_file(file, std::string_view(reinterpret_cast<const char*>(key.data()), key.size()))) {
      log.info("server_key_made", {{"file", file.string()}});
      return key;
    }
  }
  constexpr auto kRemedy = "or delete it: push agents then get a new inbound secret with their next heartbeat";
  const std::string bytes = read_secret_file(file, kRemedy);
  if (bytes.size() != key.size()) {
    throw std::runtime_error(
        fmt::format("{} does not hold 32 bytes: restore it from the backup, {}", file.string(), kRemedy));
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

}  // namespace restante
