// Trust: the certificate authorities that we trust. They are those of SSL_CERT_FILE and SSL_CERT_DIR if set, else those
// of every path used by a distribution: an executable with its own OpenSSL does not know where this system has its
// authorities.
#pragma once
#include <memory>
#include <string>

#include "client/failure.h"

namespace boost::asio::ssl {
class context;
}

namespace restante::client {

// TLS 1.2 and later, with verification. `ca_file`, if not empty, has the only trusted authorities. For client/*.cpp.
Outcome<std::shared_ptr<boost::asio::ssl::context>> make_trust(const std::string& ca_file);

// Checks whether a file contains certificate authorities that HttpOptions::ca_file can name. For code that reads
// settings: a program should report a bad file at its start, not with its first request.
Outcome<void> check_authorities(const std::string& ca_file);

}  // namespace restante::client
