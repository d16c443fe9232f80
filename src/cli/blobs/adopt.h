// `restante blobs adopt`: makes this installation the owner of a directory or a bucket, when the operator asks for it.
// Works on the database and the place directly, because a server may refuse to start on them. On SQLite it refuses
// while a server runs.
#pragma once
#include <string>

#include "server/config/config.h"

namespace restante::cli {

struct AdoptOptions {
  ConfigSources sources;  // as for serve
  std::string place;      // empty: where new files go
  bool force = false;     // also a place that another installation has marked
  bool new_id = false;    // instead: the database is a copy, and becomes a separate installation
};

// Returns the exit code.
int blobs_adopt(const AdoptOptions& options);

}  // namespace restante::cli
