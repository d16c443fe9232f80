// Checks whether a file contains certificate authorities that HttpOptions::ca_file can name. For code that reads
// settings: a program should report a bad file at its start, not with its first request.
#pragma once
#include <string>

#include "client/failure.h"

namespace restante::client {

Outcome<void> check_authorities(const std::string& ca_file);

}  // namespace restante::client
