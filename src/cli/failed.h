// CommandFailed: a command that cannot do what was asked. `what()` is the sentence for the person, the exit code is for
// the script. Thrown by commands, caught in main.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace restante::cli {

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
