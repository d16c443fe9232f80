// restante-agent: only the commands for an agent's machine, as one file that needs nothing but glibc. Servers offer it
// for download under the name restante, and its messages use that name.
#include "cli/command_line/command_line.h"

int main(int argc, char** argv) {
  return restante::cli::main_with_errors(restante::cli::parse_agent_command_line, argc, argv);
}
