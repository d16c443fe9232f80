#include <fmt/format.h>

#include "cli/format.h"
#include "cli/remote/remote.h"

namespace restante::cli {

int sweep(const RemoteOptions& options) {
  return print_answer(options, Remote(options).post("/admin/sweep", {}), format_sweep);
}

std::string format_sweep(const Json& answer) {
  const auto acked = answer.whole("acked"), expired = answer.whole("expired"), orphans = answer.whole("orphans");
  const bool waits = answer.flag("clock_jumped");
  const std::string_view why =
      "The clock was set: files are deleted by age again once it has been stable for a while.\n";
  if (acked + expired + orphans == 0) return std::string(waits ? why : "Nothing was due.\n");
  return fmt::format(
      "Removed {} acknowledged and {} expired files, and the content of {} uploads that never finished.\n{}", acked,
      expired, orphans, waits ? why : "");
}

}  // namespace restante::cli
