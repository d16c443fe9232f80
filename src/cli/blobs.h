// `restante blobs`: where the bytes of files are kept, and their change-over from one place to another. The server does
// the work; these commands ask it, and --wait shows how far it is. A progress bar on a terminal.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct BlobsOptions {
  enum class Action { status, migrate, finish, check };
  Action action = Action::status;
  RemoteOptions remote;
  std::string to;
  std::string rate;  // "10MB", a second; empty: as fast as it goes
  bool wait = false;
  bool fix = false;  // check
};

// Returns the exit code.
int blobs(const BlobsOptions& options);

// "500000", "10MB", "1.5 MiB", "64k", with or without "/s". None when it is no size.
std::optional<std::int64_t> parse_rate(std::string_view text);
std::string format_blobs(const Json& answer, Colours colours);

}  // namespace restante::cli
