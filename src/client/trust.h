// Trust: the certificate authorities that we trust. They are those of SSL_CERT_FILE and SSL_CERT_DIR if set, else those
// of every path used by a distribution: an executable with its own OpenSSL does not know where this system has its
// authorities. Only client/*.cpp include this file.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "client/failure.h"

namespace restante::client {

// TLS 1.2 and later, with verification. `ca_file`, if not empty, has the only trusted authorities.
Outcome<std::shared_ptr<boost::asio::ssl::context>> make_trust(const std::string& ca_file);

}  // namespace restante::client
