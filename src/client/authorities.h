// Whether a file holds certificate authorities that HttpOptions::ca_file could name, for whoever reads settings: better
// said when a program starts than with its first request.
#pragma once
#include <string>

#include "client/failure.h"

namespace restante::client {

Outcome<void> check_authorities(const std::string& ca_file);

}  // namespace restante::client
