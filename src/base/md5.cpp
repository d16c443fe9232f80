#include "base/md5.h"

#include <openssl/evp.h>

#include "base/error.h"

namespace restante {

std::array<std::uint8_t, 16> md5(std::string_view bytes) {
  std::array<std::uint8_t, 16> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_md5(), nullptr) != 1) {
    throw Unavailable("this system's OpenSSL does not compute MD5");
  }
  return digest;
}

}  // namespace restante
