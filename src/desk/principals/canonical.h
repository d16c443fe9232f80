// Returns the same text for equal JSON values, independent of spelling and order of members. It is used only to compare
// requests and messages; what is stored and passed on stays as it was sent.
#pragma once
#include <string>

#include "base/json.h"

namespace restante::desk {

// Members are sorted by name, numbers are compared by value, a list keeps its order.
std::string canonical_text(const Json& value);

}  // namespace restante::desk
