// The flags of the commands that manage a server: workspace, token, invite, migrate and others. Separate from
// command_line.cpp because of its size.
#pragma once
#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace restante::cli {

// Adds them to `app`. The command that was given sets itself in `to`; `to` must outlive the parsing.
void add_manage_commands(CLI::App& app, CommandLine& to);

}  // namespace restante::cli
