// The flags of the commands that manage a server: workspace, token, invite, migrate. A part of command_line.cpp, apart
// because of its size.
#pragma once
#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace restante::cli {

// Adds them to `app`. Each notes itself in `to` when it is the one that was given; `to` must outlive the parsing.
void add_manage_commands(CLI::App& app, CommandLine& to);

}  // namespace restante::cli
