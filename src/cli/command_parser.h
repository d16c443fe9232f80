// Parsing words with CLI11, in our own words where its are terse: shared by the two executables, restante and
// restante-agent. Only the files command_*.cpp include CLI11, which takes seconds to compile.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace restante::cli {

// The command line makes no sense: one sentence that says what to write instead.
class UsageError final : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Help, version and how both are laid out. `page` is the help page of the program itself.
void prepare(CLI::App& app, const std::string& page);

// A subcommand with its page of help; `called` is its full name, "workspace create".
CLI::App& add_command(CLI::App& app, const std::string& called);

std::vector<const CLI::App*> commands_of(const CLI::App& app);

// The text to print when help or the version was asked for. Throws UsageError.
std::optional<std::string> parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace restante::cli
