// restante: one binary, one subcommand for each function. Each is a row of the tables in cli/command_line/, and is
// implemented in the file of its noun under cli/.
#include <string_view>

#include "agent/delivery.h"
#include "cli/command_line/command_line.h"

int main(int argc, char** argv) {
  // Not a command for people: `restante dev` gives it to its agent as --exec.
  if (argc == 2 && std::string_view(argv[1]) == "demo-agent-reply") return restante::agent::demo_reply();
  return restante::cli::main_with_errors(restante::cli::parse_command_line, argc, argv);
}
