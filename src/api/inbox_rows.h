// The rows of a workspace's log as they are answered.
#pragma once
#include <vector>

#include "api/context.h"
#include "http/response.h"

namespace restante::api {

// Whether the rows say who they came from and what became of their files.
enum class PeerDetails { omitted, included };

http::Response rows_answer(const Context& context, const std::vector<InboxRow>& rows, PeerDetails peers);

}  // namespace restante::api
