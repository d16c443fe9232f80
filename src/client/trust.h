// Trust: which certificate authorities we believe. SSL_CERT_FILE and SSL_CERT_DIR if set, else every place where
// distributions keep theirs: an executable that carries its own OpenSSL does not know where this system's lie.
// Only client/*.cpp include this file.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "client/failure.h"

namespace restante::client {

// TLS 1.2 and later, with verification. `ca_file`, if not empty, is the only authority believed.
Outcome<std::shared_ptr<boost::asio::ssl::context>> make_trust(const std::string& ca_file);

}  // namespace restante::client
