// Exit codes of every command, after sysexits.h where it has one, so that a script can distinguish "wait" from "fix
// it". A number never changes its meaning: users rely on it. `restante --help` prints this list.
#pragma once

namespace restante::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         // anything not below
inline constexpr int kExitUsage = 64;         // the command line is wrong
inline constexpr int kExitUnavailable = 69;   // the server cannot be reached, or a port or store cannot be used
inline constexpr int kExitTryAgain = 75;      // the same command may work later
inline constexpr int kExitNotPermitted = 77;  // the token is missing, wrong or not allowed to do this
inline constexpr int kExitConfig = 78;        // a setting is wrong; the message names it

}  // namespace restante::cli
