// What a PostgreSQL server can fail with, told apart by what is to be done about it. All but ConstraintFailed are
// Unavailable: nobody's input, and over when the server is well again.
#pragma once
#include <string>

#include "base/error.h"

namespace restante::postgres {

// The connection is gone, or was given up because no answer came. What was under way may have happened or not.
class Lost : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

// It was given up because no answer came: the server may be at work still.
class Stalled : public Lost {
 public:
  using Lost::Lost;
};

// Somebody else was quicker (deadlock, serialisation, a lock not to be had): nothing happened, try again.
class Conflict : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Our own bug: the edge validates what the schema's CHECKs repeat.
class ConstraintFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A key is taken already: perhaps since just now.
class KeyTaken : public ConstraintFailed {
 public:
  using ConstraintFailed::ConstraintFailed;
};

// Throws what an error of this SQLSTATE means. `what` is for the log.
[[noreturn]] void raise(std::string_view sqlstate, const std::string& what);

}  // namespace restante::postgres
