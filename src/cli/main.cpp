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

int run(const CommandLine& asked) {
  switch (asked.command) {
    case Command::serve:
      return serve(asked.serve);
    case Command::dev:
      return dev(asked.dev);
    case Command::connect:
      return connect(asked.connect);
    case Command::mcp:
      return mcp(asked.mcp);
    case Command::status:
      return status(asked.status);
    case Command::doctor:
      return doctor(asked.doctor);
    case Command::workspace:
      return workspace(asked.workspace);
    case Command::token:
      return token(asked.token);
    case Command::invite:
      return invite(asked.invite);
    case Command::send:
      return send(asked.send);
    case Command::uploads:
      return uploads(asked.uploads);
    case Command::delegate:
      return delegate(asked.delegate);
    case Command::tasks:
      return tasks(asked.tasks);
    case Command::task:
      return task(asked.task);
    case Command::sweep:
      return sweep(asked.sweep);
    case Command::blobs:
      return blobs(asked.blobs);
    case Command::migrate:
      return migrate(asked.migrate);
    case Command::move:
      return move(asked.move);
    case Command::config:
      return config(asked.config);
    case Command::print:
      return print(asked.text);  // --help, --version, completion
  }
  return kExitFailed;
}

int main_with_errors(int argc, const char* const* argv) {
  try {
    return run(parse_command_line(argc, argv));
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
