#include "model/token.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace restante {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretChars = 43;
constexpr std::size_t kPrefixChars = 8;

}  // namespace

FreshToken make_token() {
  std::array<std::uint8_t, kSecretBytes> bytes{};
  std::string secret;
  // People type tokens and their prefixes on command lines, where a leading dash would make them an option.
  do {
    random_bytes(bytes);
    secret = to_base64url(bytes);
  } while (secret.starts_with('-'));
  return describe_token(std::move(secret));
}

FreshToken describe_token(std::string secret) {
  const Digest hash = sha256(secret);
  std::string prefix = secret.substr(0, kPrefixChars);
  return {std::move(secret), hash, std::move(prefix)};
}

bool looks_like_token(std::string_view text) {
  return text.size() == kSecretChars && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alpha(c) || is_digit(c) || c == '-' || c == '_';
         });
}

}  // namespace restante
