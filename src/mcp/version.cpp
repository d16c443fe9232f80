#include "mcp/version.h"

#include <algorithm>
#include <array>

namespace restante::mcp {
namespace {

constexpr auto kVersions = std::to_array<Version>({
    {"2025-11-25", false, true, true},
    {"2025-06-18", false, true, true},
    {"2025-03-26", true, true, false},
    {"2024-11-05", false, false, false},
});

}  // namespace

const Version& negotiate(std::string_view requested) {
  const auto found = std::ranges::find(kVersions, requested, &Version::name);
  return found == kVersions.end() ? kVersions.front() : *found;
}

}  // namespace restante::mcp
