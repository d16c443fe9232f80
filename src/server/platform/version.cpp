#include "server/platform/embedded.h"

#include <fmt/format.h>

#ifndef RESTANTE_VERSION
#define RESTANTE_VERSION "0.1.0"
#endif
#ifndef RESTANTE_COMMIT
#define RESTANTE_COMMIT "unknown"
#endif

namespace restante {

std::string_view version() { return RESTANTE_VERSION; }
std::string_view commit() { return RESTANTE_COMMIT; }

std::string compiler() {
#ifdef __clang__
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string version_line() { return fmt::format("restante {} ({}, {})", version(), commit(), compiler()); }

}  // namespace restante
