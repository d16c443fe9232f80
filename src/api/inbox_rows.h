// The rows of a workspace's log as they are answered.
#pragma once
#include <vector>

#include "api/context.h"
#include "http/response.h"

namespace restante::api {

// Whether the rows say who they came from and what became of their files.
enum class Peers { untold, told };

http::Response rows_answer(const Context& context, const std::vector<Activity>& rows, Peers peers);

}  // namespace restante::api
