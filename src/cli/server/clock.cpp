#include <fmt/format.h>

#include "cli/format.h"
#include "cli/remote/remote.h"

namespace restante::cli {

int accept_clock(const RemoteOptions& options) {
  return print_answer(options, Remote(options).post("/admin/clock/accept", {}), format_accepted_clock);
}

std::string format_accepted_clock(const Json& answer) {
  const std::string was = answer.text("was");
  if (was.empty()) return fmt::format("The clock was not in doubt. It is {}.\n", answer.text("now"));
  return fmt::format("Accepted: it is {}. Files expire and are deleted by this time again.\n", answer.text("now"));
}

}  // namespace restante::cli
