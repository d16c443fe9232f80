// `restante blobs adopt`: the operator's word that a place outside of the database is this post office's. Works on the
// database and the place themselves, because a server may refuse to start on them; on SQLite it refuses while one runs.
#pragma once
#include <string>

#include "server/config.h"

namespace restante::cli {

struct AdoptOptions {
  ConfigSources sources;  // as serve would find them
  std::string place;      // empty: where new bytes go
  bool force = false;     // also what another post office has marked
  bool new_id = false;    // instead: the database is a copy, and becomes a post office of its own
};

// Returns the exit code.
int blobs_adopt(const AdoptOptions& options);

}  // namespace restante::cli
