// Tokens inside a lane's transaction, for verbs that also do something else.
#pragma once
#include "store/postgres/lanes/transaction.h"
#include "store/sql/tokens.h"

namespace restante::postgres {

inline Result<Token> add(Transaction& transaction, const NewToken& token, Time now) {
  return add_token(transaction, token, now);
}
inline bool has_live(Connection& connection, WorkspaceId workspace, Time now) {
  return has_live_token(connection, workspace, now);
}
inline Result<Token> redeem(Transaction& transaction, TokenId enrolment, const NewToken& token, Time now) {
  return redeem_enrolment(transaction, enrolment, token, now);
}

}  // namespace restante::postgres
