// `restante uploads`: shows which files wait on the server, for whom, how old and in which state.
#pragma once
#include <string>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct UploadsOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: all
  std::string state = "waiting";
  bool stats = false;
};

// Returns the exit code.
int uploads(const UploadsOptions& options);

std::string format_uploads(const Json& answer, Time now, Colours colours);
std::string format_upload_stats(const Json& answer, Colours colours);

}  // namespace restante::cli
