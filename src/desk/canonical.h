// One text for equal JSON, however it was spelt or ordered: what tells one request or message from another. It is for
// comparing alone; what is kept and handed on stays as it was sent.
#pragma once
#include <string>

#include "base/json.h"

namespace restante::desk {

// Members in the order of their names, numbers by their value; a list stays in its order.
std::string canonical_text(const Json& value);

}  // namespace restante::desk
