// Exit codes, and CommandFailed: a command that cannot do what was asked. `what()` is the sentence for the person, the
// exit code is for the script. Thrown by commands, caught in main.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace restante::cli {

// After sysexits.h where it has one, so that a script can distinguish "wait" from "fix it". A number never changes its
// meaning: users rely on it. `restante --help` prints this list.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         // anything not below
inline constexpr int kExitUsage = 64;         // the command line is wrong
inline constexpr int kExitUnavailable = 69;   // the server cannot be reached, or a port or store cannot be used
inline constexpr int kExitTryAgain = 75;      // the same command may work later
inline constexpr int kExitNotPermitted = 77;  // the token is missing, wrong or not allowed to do this
inline constexpr int kExitConfig = 78;        // a setting is wrong; the message names it

class CommandFailed final : public std::runtime_error {
 public:
  CommandFailed(int code, const std::string& sentence, std::string reason = {})
      : std::runtime_error(sentence), code_(code), reason_(std::move(reason)) {}
  int exit_code() const { return code_; }
  // The code of the server's refusal; empty when it was none.
  const std::string& reason() const { return reason_; }

 private:
  int code_;
  std::string reason_;
};

}  // namespace restante::cli
