// Error is a value for each failure that a correct client can cause. This file is the mechanism; the list of all errors
// that a client can get is model/errors.h, and the mapping to HTTP is one table in api/. An Error has the fixed
// sentence of its kind and the facts a person needs to act (max, size, filename), never raw input, a path, SQL or a
// token.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/system/result.hpp>

namespace restante {

enum class ErrorClass {
  bad_request,
  unauthenticated,
  forbidden,
  not_found,
  conflict,
  gone,
  too_large,
  unsupported_media,
  misdirected,
  unprocessable,
  too_many,
  broken,  // stored data is damaged for good
  bad_gateway,
  unavailable,
  storage_full,
};

struct ErrorKind {
  std::string_view code;      // stable_snake_case, for programs
  std::string_view sentence;  // for people
  ErrorClass error_class;
};

struct Fact {
  std::string_view name;
  std::variant<std::int64_t, std::string> value;
};

class [[nodiscard]] Error {
 public:
  Error() = default;                              // Boost's result<void, E> needs one; it means a bug of ours
  Error(const ErrorKind& kind) : kind_(&kind) {}  // NOLINT: an error kind is an error without facts
  Error(const ErrorKind& kind, std::vector<Fact> facts) : kind_(&kind), facts_(std::move(facts)) {}

  std::string_view code() const { return kind_->code; }
  // The kind's sentence unless a more exact one was given. Both are our text and never contain text of the client.
  std::string_view sentence() const { return sentence_.empty() ? kind_->sentence : std::string_view(sentence_); }
  ErrorClass error_class() const { return kind_->error_class; }
  const std::vector<Fact>& facts() const { return facts_; }
  bool is(const ErrorKind& kind) const { return kind_ == &kind; }
  Error& with_sentence(std::string sentence) & {
    sentence_ = std::move(sentence);
    return *this;
  }
  Error&& with_sentence(std::string sentence) && {
    sentence_ = std::move(sentence);
    return std::move(*this);
  }

 private:
  static constexpr ErrorKind kUnset{"internal", "this is our fault", ErrorClass::unavailable};
  const ErrorKind* kind_ = &kUnset;
  std::vector<Fact> facts_;
  std::string sentence_;
};

template <class T>
using Result = boost::system::result<T, Error>;

// A backend that cannot be reached or has failed. No input causes it, so it is an exception. The edge answers 503 with
// Retry-After. `what()` is for the log and is never shown to a client.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The storage failed in the act of committing: the write may take effect or not, and a restart may show which. The edge
// answers 503 outcome_unknown; the same request with the same Idempotency-Key settles it.
class OutcomeUnknown : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

// The place of the files, or the database, has no room left. The edge answers 507.
class StorageFull : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Called by Result::value() on an error: to take the value without a check is our own bug.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::logic_error("unchecked error: " + std::string(error.code()));
}

}  // namespace restante
