// Nearest: "did you mean" for keys, variables, commands and flags.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace restante {

// The candidate a person most likely meant, or empty when none is close. A dotted candidate also matches by its last
// word, so that `header` finds `timeouts.header`.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace restante
