#include "cli/options.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {

Config effective_config(ConfigSources sources) {
  sources.environment = process_environment();
  return load_config(sources);
}

int config(const ConfigOptions& options) {
  if (options.example) return print(example_config());
  const Config effective = effective_config(options.sources);
  for (const auto& sentence : warnings(effective)) warn(sentence);
  return print(print_config(effective));
}

}  // namespace restante::cli
