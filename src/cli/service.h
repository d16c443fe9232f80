// `restante connect --install-service`: a systemd user unit that runs connect with the same flags, from now on and
// after every boot, and with what of the environment makes it work: proxies, certificates, the command's PATH. Enrols
// first if asked to, so that the unit holds no token; it is 0600, because a proxy's address may hold a password. Prints
// what it did and what is left to do.
#pragma once
#include <string>

#include "cli/connect.h"
#include "client/proxy.h"

namespace restante::cli {

// Returns the exit code. Throws CommandFailed.
int install_service(const ConnectOptions& options);

// The unit's text. `program` and the folders are absolute.
std::string service_unit(const ConnectOptions& options, const std::string& program,
                         const client::Environment& environment);
// One word of an ExecStart line, quoted so that systemd gives the program exactly this.
std::string service_word(const std::string& word);
// A path as a setting takes it, which knows no quotes. Throws CommandFailed for a name that cannot be written so.
std::string service_path(const std::string& path);

}  // namespace restante::cli
