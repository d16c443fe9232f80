// `restante blobs check`: the server looks at everything it keeps; this waits for it and shows what was found. A
// progress bar on a terminal. One that is under way already is shown instead of a second; who wants to mend while it
// only looks waits for it first. Ends with 0 when all is well or was mended, with 1 when something is wrong and was
// not.
#pragma once
#include <string>

#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct BlobsCheckOptions {
  RemoteOptions remote;
  bool fix = false;
};

// Returns the exit code.
int blobs_check(const BlobsCheckOptions& options);

std::string format_blob_check(const Json& answer, Colours colours);

}  // namespace restante::cli
