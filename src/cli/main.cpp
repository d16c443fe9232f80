// restante: one binary, one subcommand for each function. Each is implemented in the file of its name under cli/.
#include <exception>
#include <string_view>

#include "agent/demo.h"
#include "base/error.h"
#include "cli/command_line/command_line.h"
#include "cli/command_line/command_parser.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/config/config.h"

namespace restante::cli {
namespace {

int main_with_errors(int argc, const char* const* argv) {
  try {
    const auto asked = parse_command_line(argc, argv);
    return asked.run(asked);
  } catch (const UsageError& error) {
    print_error(error.what());
    return kExitUsage;
  } catch (const CommandFailed& error) {
    print_error(error.what());
    return error.exit_code();
  } catch (const ConfigError& error) {
    print_error(error.what());
    return kExitConfig;
  } catch (const Unavailable& error) {
    print_error(error.what());
    return kExitUnavailable;
  } catch (const std::exception& error) {
    print_error(error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace restante::cli

int main(int argc, char** argv) {
  // Not a command for people: `restante dev` gives it to its agent as --exec.
  if (argc == 2 && std::string_view(argv[1]) == "demo-agent-reply") return restante::agent::demo_reply();
  return restante::cli::main_with_errors(argc, argv);
}
