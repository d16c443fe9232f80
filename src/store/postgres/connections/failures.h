// The failures of a PostgreSQL server, one type for each way to react. All except ConstraintFailed are Unavailable: no
// input causes them, and they end when the server works again.
#pragma once
#include <string>

#include "base/error.h"
#include "store/sql/transaction.h"

namespace restante::postgres {

// The connection is lost, or was given up because no answer came. The running statements may or may not have taken
// effect.
class Lost : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Given up because no answer came: the server may still be working on the statement.
class Stalled : public Lost {
 public:
  using Lost::Lost;
};

using restante::Conflict;

// Our own bug: the API layer validates everything that the CHECKs of the schema repeat.
class ConstraintFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// The key exists already; another transaction may have added it a moment ago.
class KeyTaken : public ConstraintFailed {
 public:
  using ConstraintFailed::ConstraintFailed;
};

// Throws the failure that this SQLSTATE means. `what` is for the log.
[[noreturn]] void raise(std::string_view sqlstate, const std::string& what);

}  // namespace restante::postgres
