// Tokens inside a lane's transaction, for verbs that also do something else.
#pragma once
#include "model/token.h"
#include "store/postgres/lanes/transaction.h"

namespace restante::postgres {

// too_many_tokens; invalid_token when the token that opens it (opened_by) is not live.
Result<Token> add(Transaction& transaction, const NewToken& token, Time now);
bool has_live(Connection& connection, WorkspaceId workspace, Time now);

// Revokes the enrolment and adds the token. invalid_token when the enrolment is not live or is for another workspace.
Result<Token> redeem(Transaction& transaction, TokenId enrolment, const NewToken& token, Time now);

}  // namespace restante::postgres
