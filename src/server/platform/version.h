// This build: the version of the release, the commit it was built from and the compiler that built it.
#pragma once
#include <string>
#include <string_view>

namespace restante {

std::string_view version();  // "0.1.0"
std::string_view commit();   // "unknown" outside a checkout
std::string compiler();      // "clang 19.1.7"
std::string version_line();  // "restante 0.1.0 (commit, compiler)"

}  // namespace restante
