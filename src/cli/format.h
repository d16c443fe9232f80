// What the commands print for a person, from the server's answers, and what they send. Pure.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/table.h"
#include "store/migration.h"

namespace restante::cli {

std::string format_workspaces(const Json& list, Time now, Colours colours);
std::string format_workspace(const Json& one, Time now, Colours colours);
// The name, the id and the line to paste.
std::string format_created(const Json& created, Time now);
// key=value pairs as the body of a PATCH; an empty value clears the member. Throws CommandFailed for an unknown key.
std::string patch_body(const std::vector<std::string>& changes);

std::string format_tokens(const Json& list, Time now, Colours colours);
// The id of the one token with that id, or whose secret begins with it. Throws CommandFailed when there is none or
// several.
std::string pick_token(const Json& list, const std::string& id_or_prefix);

std::string format_invite(const Json& invite, Time now);
// The text to paste on the agent's machine: the line that also fetches the program, when there is one, and the short
// one.
std::string lines_to_paste(const std::string& connect, const std::string& install);

// The name of the workspace that a row is for, or its id.
std::string workspace_of(const Json& row);
std::string format_uploads(const Json& answer, Time now, Colours colours);
std::string format_upload_stats(const Json& answer, Colours colours);
std::string format_sweep(const Json& answer);
std::string format_accepted_clock(const Json& answer);

std::string format_migrations(const std::vector<MigrationStatus>& all, Time now, Colours colours);
std::string migrations_json(const std::vector<MigrationStatus>& all);

}  // namespace restante::cli
