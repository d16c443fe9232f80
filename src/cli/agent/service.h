// `restante connect --install-service`: a systemd user unit that runs connect with the same flags, from now on and
// after every boot, with the environment variables it needs: proxies, certificates, the command's PATH. Enrols first if
// asked to, so that the unit contains no token; the unit is 0600, because a proxy's address may contain a password.
// Prints what it did and what is left to do.
#pragma once
#include <string>

#include "cli/agent/setup.h"
#include "client/proxy.h"

namespace restante::cli {

// Returns the exit code. Throws CommandFailed.
int install_service(const ConnectOptions& options);

// Stops and disables the unit of this agent and deletes it. Returns the exit code; 0 also when there was none. The
// agent's state stays.
int uninstall_service(const AgentOptions& options);

// The unit's text. `program` and the folders are absolute.
std::string service_unit(const ConnectOptions& options, const std::string& program,
                         const client::Environment& environment);
// One word of an ExecStart line, quoted so that systemd gives the program exactly this word.
std::string service_word(const std::string& word);
// A path as a systemd setting takes it, without quotes. Throws CommandFailed for a name that cannot be written so.
std::string service_path(const std::string& path);

}  // namespace restante::cli
