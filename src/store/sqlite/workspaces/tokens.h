// Tokens inside the writer's transaction, for verbs that also change other tables. For the writer's thread.
#pragma once
#include "store/sql/tokens.h"
#include "store/sqlite/database/transaction.h"

namespace restante::sqlite {

inline Result<Token> add(Database& database, const NewToken& token, Time now) {
  Transaction transaction(database);
  return add_token(transaction, token, now);
}
inline bool has_live(Database& database, WorkspaceId workspace, Time now) {
  return has_live_token(database, workspace, now);
}
inline Result<Token> redeem(Database& database, TokenId enrolment, const NewToken& token, Time now) {
  Transaction transaction(database);
  return redeem_enrolment(transaction, enrolment, token, now);
}

}  // namespace restante::sqlite
