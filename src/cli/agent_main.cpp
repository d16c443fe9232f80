// restante-agent: only the commands for an agent's machine, as one file that needs nothing but glibc. Servers offer it
// for download under the name restante, and its messages use that name.
#include <exception>

#include "cli/command_line/command_line.h"
#include "cli/command_line/command_parser.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

int main_with_errors(int argc, const char* const* argv) {
  try {
    const auto asked = parse_agent_command_line(argc, argv);
    return asked.run(asked);
  } catch (const UsageError& error) {
    print_error(error.what());
    return kExitUsage;
  } catch (const CommandFailed& error) {
    print_error(error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    print_error(error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace restante::cli

int main(int argc, char** argv) { return restante::cli::main_with_errors(argc, argv); }
