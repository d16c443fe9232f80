// Idempotency-Key: the same key with the same request has one effect and one answer, for at least 24 h. A handler makes
// an IdempotentRequest, asks it whether there is anything left to do, and calls its verb through it.
//
// Keys belong to the principal, not to its token: an agent that has registered again, or an operator who has rotated
// the operator's token, can repeat an unfinished request under the same key. So the scope is the workspace for agents,
// "admin" for the operator, and the token for people, each of whom has a separate one; with the route, its :id and the
// key.
// An error of this server had no effect and is not kept. A callback's answer is kept, also an error.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/answers.h"
#include "api/context.h"
#include "base/json.h"
#include "desk/principals/idempotency.h"
#include "http/request.h"
#include "http/response.h"
#include "model/idempotency.h"

namespace restante::api {

// A digest that distinguishes requests: equal for equal JSON, in any spelling or order.
Digest digest_of(const Json& body);

// Converts an answer with a string body to the text that is stored with its effect, and back.
std::string keep(const http::Response& answer);
http::Response replay(std::string_view kept);

// 507 when the disk has no room left for rows of such a request.
std::optional<http::Response> refuse_without_room(const Context& context, const http::Request& request);

// Copies represent the same request.
class IdempotentRequest {
 public:
  IdempotentRequest(const Context& context, std::string_view route) : context_(&context), route_(route) {}

  // enter() and look_up(), for a request whose body is JSON and which adds rows. A request that was not answered before
  // is refused when the disk has no room for it (507).
  std::optional<http::Response> begin(const http::Request& request, const Json& body);
  // From the head alone: refuses an invalid key (400), or a key whose first request is still running (409).
  std::optional<http::Response> enter(const http::Request& request);
  // When the whole request is known: returns the answer of the first time, or a refusal if that was another request
  // (422).
  std::optional<http::Response> look_up(const Digest& what);

  // The answer for the result of `verb`, which gets the claim of this request, if it has a key. `to_answer` makes the
  // answer, and the one that is kept; `to_kept` the kept one, where that must leave out a secret. The key is released
  // once the commit is settled, whether a client still waits or not.
  template <class T, class Verb, class ToAnswer>
  http::Response perform(Verb verb, ToAnswer to_answer) const {
    return perform<T>(std::move(verb), to_answer, [to_answer](const T& made) { return to_answer(Result<T>(made)); });
  }
  template <class T, class Verb, class ToAnswer, class ToKept>
  http::Response perform(Verb verb, ToAnswer to_answer, ToKept to_kept) const;

 private:
  const Context* context_;
  std::string_view route_;
  std::optional<Claim> claim_;  // nothing: no key was sent
  std::shared_ptr<desk::IdempotencyLocks::IdempotencyLock> lock_;
};

template <class T, class Verb, class ToAnswer, class ToKept>
http::Response IdempotentRequest::perform(Verb verb, ToAnswer to_answer, ToKept to_kept) const {
  if (!claim_) return http::after(verb(OptionalClaim<T>()), to_answer);
  Commit<Result<T>> commit = verb(ClaimedAnswer<T>{*claim_, [to_kept](const T& made) { return keep(to_kept(made)); }});
  // Before the edge is called back: a client that has the answer may use the key again.
  commit.on_done([lock = lock_] { lock->release(); });
  return http::after(std::move(commit), [to_answer](Result<T> made) -> http::Response {
    const auto earlier = made ? std::nullopt : earlier_answer(made.error());
    return earlier ? replay(*earlier) : to_answer(std::move(made));
  });
}

}  // namespace restante::api
