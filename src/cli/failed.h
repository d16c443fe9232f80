// CommandFailed: a command that cannot do what was asked. `what()` is the sentence for the person, the exit code is for
// the script. Thrown by commands, caught in main.
#pragma once
#include <stdexcept>
#include <string>

namespace restante::cli {

class CommandFailed final : public std::runtime_error {
 public:
  CommandFailed(int code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  int exit_code() const { return code_; }

 private:
  int code_;
};

}  // namespace restante::cli
