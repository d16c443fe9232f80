// Tokens inside the writer's transaction, for the verbs that also do something else. Writer's thread.
#pragma once
#include "model/token.h"
#include "store/sqlite/database.h"

namespace restante::sqlite {

// too_many_tokens.
Result<Token> add(Database& database, const NewToken& token, Time now);
bool has_live(Database& database, WorkspaceId workspace, Time now);

// The enrolment is revoked and the token added. invalid_token when the enrolment is not live or bound elsewhere.
Result<Token> redeem(Database& database, TokenId enrolment, const NewToken& token, Time now);

}  // namespace restante::sqlite
