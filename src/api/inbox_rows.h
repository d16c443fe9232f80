// The rows of a workspace's inbox as JSON answers.
#pragma once
#include <vector>

#include "api/context.h"
#include "http/response.h"

namespace restante::api {

// Whether the rows contain their sender and the state of their files.
enum class PeerDetails { omitted, included };

http::Response rows_answer(const Context& context, const std::vector<InboxRow>& rows, PeerDetails peers);

}  // namespace restante::api
