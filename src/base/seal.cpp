#include "base/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>
#include <new>
#include <span>

#include "base/crypto.h"
#include "base/error.h"

namespace restante {
namespace {

// One byte of version, the nonce, the encrypted secret, the tag.
constexpr char kVersion = 1;
constexpr std::size_t kNonce = 12;
constexpr std::size_t kTag = 16;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
int length(std::string_view text) { return static_cast<int>(text.size()); }

Context make_context() {
  Context context(EVP_CIPHER_CTX_new());
  if (!context) throw std::bad_alloc();
  return context;
}

}  // namespace

Seal::~Seal() { OPENSSL_cleanse(key_.data(), key_.size()); }

std::string Seal::close(std::string_view secret, std::string_view bound_to) const {
  std::array<std::uint8_t, kNonce> nonce{};
  random_bytes(nonce);
  std::string text(secret.size(), '\0');
  std::string tag(kTag, '\0');
  const Context context = make_context();
  int written = 0;
  const bool sealed = EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.data(), nonce.data()) == 1 &&
                      EVP_EncryptUpdate(context.get(), nullptr, &written, bytes(bound_to), length(bound_to)) == 1 &&
                      EVP_EncryptUpdate(context.get(), bytes(text), &written, bytes(secret), length(secret)) == 1 &&
                      EVP_EncryptFinal_ex(context.get(), bytes(tag), &written) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTag), tag.data()) == 1;
  if (!sealed) throw Unavailable("AES-256-GCM is not to be had from this OpenSSL");
  return kVersion + std::string(nonce.begin(), nonce.end()) + text + tag;
}

std::optional<std::string> Seal::open(std::string_view sealed, std::string_view bound_to) const {
  if (sealed.size() < 1 + kNonce + kTag || sealed.front() != kVersion) return std::nullopt;
  const std::string_view nonce = sealed.substr(1, kNonce);
  const std::string_view hidden = sealed.substr(1 + kNonce, sealed.size() - 1 - kNonce - kTag);
  std::string tag(sealed.substr(sealed.size() - kTag));
  std::string text(hidden.size(), '\0');
  std::string rest(kTag, '\0');
  const Context context = make_context();
  int written = 0;
  const bool whole =
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.data(), bytes(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &written, bytes(bound_to), length(bound_to)) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes(text), &written, bytes(hidden), length(hidden)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTag), tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes(rest), &written) == 1;
  if (!whole) return std::nullopt;
  return text;
}

}  // namespace restante
