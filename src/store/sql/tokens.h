// Tokens inside a transaction, for verbs that also do something else.
#pragma once
#include "model/token.h"
#include "store/sql/transaction.h"

namespace restante {

// too_many_tokens; invalid_token when the token that opens it (opened_by) is not live.
Result<Token> add_token(SqlTransaction& transaction, const NewToken& token, Time now);
bool has_live_token(SqlReader& reader, WorkspaceId workspace, Time now);
// Revokes the enrolment and adds the token. invalid_token when the enrolment is not live or is for another workspace.
Result<Token> redeem_enrolment(SqlTransaction& transaction, TokenId enrolment, const NewToken& token, Time now);

}  // namespace restante
