#include "cli/uploads/sweep.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {

int sweep(const SweepOptions& options) {
  Remote remote(options.remote);
  const std::string answer = remote.post("/admin/sweep", {});
  return print(options.remote.json ? answer + '\n' : format_sweep(parse_answer(answer)));
}

std::string format_sweep(const Json& answer) {
  const auto count = [&](std::string_view key) {
    const Json* value = answer.find(key);
    return value && value->if_number() ? parse_unsigned(value->if_number()->text).value_or(0) : 0;
  };
  const Json* jumped = answer.find("clock_jumped");
  const bool waits = jumped && jumped->if_boolean() && *jumped->if_boolean();
  const std::string_view why =
      "The clock was set: files are deleted by age again once it has been stable for a while.\n";
  if (count("acked") + count("expired") + count("orphans") == 0) return std::string(waits ? why : "Nothing was due.\n");
  return fmt::format(
      "Removed {} acknowledged and {} expired files, and the content of {} uploads that never finished.\n{}",
      count("acked"), count("expired"), count("orphans"), waits ? why : "");
}

}  // namespace restante::cli
