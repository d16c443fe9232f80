// Idempotency-Key: the same key with the same request has one effect and one answer, for at least 24 h. A handler makes
// a Once, asks it whether there is anything left to do, and performs its verb through it.
//
// Keys belong to the principal, not to its token: an agent that has registered anew, or an operator who has rotated the
// admin token, repeats under the same key what it could not finish. So the scope is the workspace for agents, "admin"
// for the operator, and the token for people, where each has one of their own; with the route, its :id and the key.
// An answer of ours that is an error had no effect and is not kept. What a callback answered is kept, errors too.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/answers.h"
#include "api/context.h"
#include "base/json.h"
#include "desk/idempotency.h"
#include "http/request.h"
#include "http/response.h"
#include "model/idempotency.h"

namespace restante::api {

// What is asked, for telling one request from another: equal for equal JSON, however it is spelt or ordered.
Digest digest_of(const Json& body);

// An answer of bytes as text to keep with its effect, and back.
std::string keep(const http::Response& answer);
http::Response replay(std::string_view kept);

// Copies stand for the same request.
class IdempotentRequest {
 public:
  IdempotentRequest(const Context& context, std::string_view route) : context_(&context), route_(route) {}

  // Both of the below, for a request whose body is JSON.
  std::optional<http::Response> begin(const http::Request& request, const Json& body);
  // From the head alone: refused when the key is none (400), or its first request is still running (409).
  std::optional<http::Response> enter(const http::Request& request);
  // When it is known what is asked: what was answered the first time, or a refusal when that was another request (422).
  std::optional<http::Response> look_up(const Digest& what);

  // The answer made of what a verb has done: plain() when there is no key, else claiming(claim, render), which keeps
  // what to_answer(Result<T>) says of it. The key is free again once that is settled, whether anybody waits or not.
  template <class T, class Plain, class Claiming, class ToAnswer>
  http::Response perform(Plain plain, Claiming claiming, ToAnswer to_answer) const;

 private:
  const Context* context_;
  std::string_view route_;
  std::optional<Claim> claim_;  // nothing: no key was sent
  std::shared_ptr<desk::IdempotencyLocks::IdempotencyLock> lock_;
};

template <class T, class Plain, class Claiming, class ToAnswer>
http::Response IdempotentRequest::perform(Plain plain, Claiming claiming, ToAnswer to_answer) const {
  if (!claim_) return http::after(plain(), to_answer);
  Render<T> render = [to_answer](const T& made) { return keep(to_answer(Result<T>(made))); };
  Commit<Result<Claimed<T>>> commit = claiming(*claim_, std::move(render));
  // Before the edge is told: whoever has the answer may use the key again.
  commit.on_done([lock = lock_] { lock->release(); });
  return http::after(std::move(commit), [to_answer](Result<Claimed<T>> claimed) -> http::Response {
    if (!claimed) return to_answer(Result<T>(claimed.error()));
    if (!claimed->made) return replay(claimed->replay);
    return to_answer(Result<T>(std::move(*claimed->made)));
  });
}

}  // namespace restante::api
