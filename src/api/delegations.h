// /workspaces/:id/delegate and /delegations: tasks are given, read, reported on and cancelled; for the operator all
// tasks.
#pragma once
#include "api/context.h"
#include "base/json_writer.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response delegate_task(const Context&, http::Request&);
http::Response record_delegation(const Context&, http::Request&);
http::Response list_delegations(const Context&, http::Request&);
http::Response read_delegation(const Context&, http::Request&);
http::Response update_delegation(const Context&, http::Request&);
http::Response beat_delegation(const Context&, http::Request&);
http::Response cancel_delegation(const Context&, http::Request&);
http::Response list_all_delegations(const Context&, http::Request&);
http::Response read_any_delegation(const Context&, http::Request&);
http::Response delegation_figures(const Context&, http::Request&);

// A result may be as large as any JSON body; a little more is read, so that the answer can name the alternative.
inline constexpr std::uint64_t kMaxResultBody = 1 << 20;

}  // namespace restante::api
