#include "client/trust.h"

#include <openssl/ssl.h>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <cstdlib>

namespace restante::client {
namespace {
namespace ssl = boost::asio::ssl;

constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // older RHEL
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // macOS, OpenBSD
    "/usr/local/share/certs/ca-root-nss.crt",             // FreeBSD
};

void load_system_authorities(ssl::context& context) {
  boost::system::error_code ignored;
  context.set_default_verify_paths(ignored);  // also reads SSL_CERT_FILE and SSL_CERT_DIR
  if (std::getenv("SSL_CERT_FILE") || std::getenv("SSL_CERT_DIR")) return;
  for (const char* bundle : kBundles) {
    if (access(bundle, R_OK) != 0) continue;
    boost::system::error_code error;
    context.load_verify_file(bundle, error);
    if (!error) return;
  }
}

}  // namespace

Outcome<std::shared_ptr<ssl::context>> make_trust(const std::string& ca_file) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_verify_mode(ssl::verify_peer);
  if (ca_file.empty()) {
    load_system_authorities(*context);
    return context;
  }
  boost::system::error_code error;
  context->load_verify_file(ca_file, error);
  if (error)
    return Failure(Failure::Kind::tls, "no certificate authority can be read from " + ca_file + ": " + error.message());
  return context;
}

Outcome<void> check_authorities(const std::string& ca_file) {
  const auto trust = make_trust(ca_file);
  if (trust.has_error()) return trust.error();
  return {};
}

}  // namespace restante::client
