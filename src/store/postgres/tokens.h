// Tokens inside a lane's transaction, for the verbs that also do something else.
#pragma once
#include "model/token.h"
#include "store/postgres/transaction.h"

namespace restante::postgres {

// too_many_tokens; invalid_token when the one it is opened by does not live.
Result<Token> add(Transaction& transaction, const NewToken& token, Time now);
bool has_live(Connection& connection, WorkspaceId workspace, Time now);

// The enrolment is revoked and the token added. invalid_token when the enrolment is not live or bound elsewhere.
Result<Token> redeem(Transaction& transaction, TokenId enrolment, const NewToken& token, Time now);

}  // namespace restante::postgres
