#include "net/tls.h"

#include <stdexcept>

#include <fmt/format.h>

namespace restante::net {
namespace {

namespace ssl = boost::asio::ssl;

// This server supports HTTP/1.1 only; a client that offers no protocol we know continues without ALPN.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                    void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kOurs, sizeof(kOurs) - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

std::shared_ptr<ssl::context> load(const std::string& certificate_file, const std::string& key_file) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::no_compression);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // an idle connection releases its 32 KiB
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  boost::system::error_code ec;
  context->use_certificate_chain_file(certificate_file, ec);
  if (ec) throw std::runtime_error(fmt::format("tls.certificate: cannot use {}: {}", certificate_file, ec.message()));
  context->use_private_key_file(key_file, ssl::context::pem, ec);
  if (ec) throw std::runtime_error(fmt::format("tls.key: cannot use {}: {}", key_file, ec.message()));
  if (SSL_CTX_check_private_key(native) != 1) {
    throw std::runtime_error(
        fmt::format("tls.key: {} does not belong to the certificate {}", key_file, certificate_file));
  }
  return context;
}

}  // namespace

Tls::Tls(std::string certificate_file, std::string key_file)
    : certificate_file_(std::move(certificate_file)),
      key_file_(std::move(key_file)),
      context_(load(certificate_file_, key_file_)) {}

void Tls::reload() {
  auto fresh = load(certificate_file_, key_file_);
  const MutexLock lock(mutex_);
  context_ = std::move(fresh);
}

std::shared_ptr<ssl::context> Tls::current() const {
  const MutexLock lock(mutex_);
  return context_;
}

}  // namespace restante::net
