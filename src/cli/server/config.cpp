#include "cli/server/config.h"

#include "cli/terminal/terminal.h"

namespace restante::cli {

int config(const ConfigOptions& options) {
  if (options.example) return print(example_config());
  const Config effective = load_config(options.sources);
  for (const auto& sentence : warnings(effective)) warn(sentence);
  return print(print_config(effective));
}

}  // namespace restante::cli
