// Functions on tokens inside the writer's transaction, for verbs that also change other tables. For the writer's
// thread.
#pragma once
#include "model/token.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

// too_many_tokens.
Result<Token> add(Database& database, const NewToken& token, Time now);
bool has_live(Database& database, WorkspaceId workspace, Time now);

// Revokes the enrolment and adds the token. invalid_token when the enrolment is not live or is for another workspace.
Result<Token> redeem(Database& database, TokenId enrolment, const NewToken& token, Time now);

}  // namespace restante::sqlite
