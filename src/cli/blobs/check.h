// `restante blobs check`: the server checks all stored files; this command waits for it and shows what was found, with
// a progress bar on a terminal. A check that is already running is shown instead of starting a second one; with --fix,
// when the running one does not repair, a new check follows it. Exit code 0 when all is well or was repaired, 1 when
// something is wrong and was not.
#pragma once
#include <string>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct BlobsCheckOptions {
  RemoteOptions remote;
  bool fix = false;
};

// Returns the exit code.
int blobs_check(const BlobsCheckOptions& options);

std::string format_blob_check(const Json& answer, Colours colours);

}  // namespace restante::cli
