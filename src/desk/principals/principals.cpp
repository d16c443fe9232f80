#include "desk/principals/principals.h"

#include "desk/events/event_bus.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

// A working day and a night: a laptop that was closed in the evening is still signed in the next morning.
constexpr std::chrono::seconds kSessionLifetime = std::chrono::hours(24);
constexpr auto kRecordInterval = std::chrono::minutes(1);

std::optional<Principal::Role> role_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::admin:
      return Principal::Role::admin;
    case TokenKind::workspace:
      return Principal::Role::workspace;
    case TokenKind::sender:
      return Principal::Role::sender;
    case TokenKind::enrolment:
      return Principal::Role::enrolment;
    case TokenKind::session:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void TokenUses::record(TokenId id) {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  const auto [found, first] = recorded_.try_emplace(id, now);
  if (!first && now - found->second < kRecordInterval) return;
  found->second = now;
  unwritten_.emplace_back(id, clock_.now());
}

void TokenUses::flush() {
  std::vector<std::pair<TokenId, Time>> uses;
  {
    const MutexLock lock(mutex_);
    uses.swap(unwritten_);
    const SteadyTime now = clock_.steady();
    std::erase_if(recorded_, [now](const auto& recorded) { return now - recorded.second >= kRecordInterval; });
  }
  if (!uses.empty()) (void)store_.record_token_uses(uses).take();
}

Result<Principal> Principals::by_token(std::string_view secret) {
  if (!looks_like_token(secret)) return errors::invalid_token;
  const Digest hash = sha256(secret);
  if (admin_generation(hash)) check_admin_token();
  if (const auto generation = admin_generation(hash))
    return Principal{Principal::Role::admin, {}, {}, false, *generation};
  const auto token = store_.find_token(hash);
  if (!token) {
    check_admin_token();
    if (const auto generation = admin_generation(hash))
      return Principal{Principal::Role::admin, {}, {}, false, *generation};
  }
  if (!token || !token->live(clock_.now())) return errors::invalid_token;
  const auto role = role_of(token->kind);
  if (!role) return errors::invalid_token;
  uses_.record(token->id);
  return Principal{*role, token->workspace_id, token->id, false};
}

std::optional<WorkspaceId> Principals::former_agent(std::string_view secret) {
  if (!looks_like_token(secret)) return std::nullopt;
  const auto token = store_.find_token(sha256(secret));
  if (!token || token->kind != TokenKind::workspace || !token->revoked_at) return std::nullopt;
  return token->workspace_id;
}

Result<Principal> Principals::by_session(std::string_view secret) {
  if (!looks_like_token(secret)) return errors::invalid_token;
  const auto token = store_.find_token(sha256(secret));
  if (!token || token->kind != TokenKind::session || !token->live(clock_.now())) return errors::invalid_token;
  const auto role = token->workspace_id ? Principal::Role::sender : Principal::Role::admin;
  uses_.record(token->id);
  return Principal{role, token->workspace_id, token->id, true, 0, token->opened_by};
}

bool Principals::still_live(const Principal& principal) {
  if (!principal.token_id) {
    check_admin_token();
    const MutexLock lock(mutex_);
    return !principal.is_admin() || principal.admin_generation == admin_generation_;
  }
  const auto token = store_.find_token(*principal.token_id);
  return token && token->live(clock_.now());
}

Result<Session> Principals::open_session(std::string_view secret) {
  auto principal = by_token(secret);
  if (!principal) return principal.error();
  if (principal->role != Principal::Role::admin && principal->role != Principal::Role::sender)
    return errors::not_allowed;
  const Time now = clock_.now();
  FreshToken fresh = make_token();
  NewToken token{TokenKind::session, principal->workspace_id, fresh.hash, fresh.prefix, "page", now + kSessionLifetime};
  token.opened_by = principal->token_id;
  const auto opened = store_.open_session(token, now).take();
  if (!opened) return opened.error();
  for (const TokenId& ended : opened->ended) bell_.ring(topic_of(ended));
  const TokenId session = opened->session.id;
  if (principal->is_admin() && !principal->token_id && !still_live(*principal)) {
    // The operator's token was replaced meanwhile, and replace_admin() did not see this session.
    (void)store_.revoke_token(session, clock_.now()).take();
    return errors::invalid_token;
  }
  principal->opened_by = principal->token_id;
  principal->token_id = session;
  principal->by_session = true;
  return Session{std::move(fresh.secret), *principal, kSessionLifetime};
}

void Principals::close_session(const Principal& principal) {
  if (!principal.by_session || !principal.token_id) return;
  (void)store_.revoke_token(*principal.token_id, clock_.now()).take();
  bell_.ring(topic_of(*principal.token_id));
}

bool Principals::set_admin(const Digest& admin) {
  const MutexLock lock(mutex_);
  if (admin == admin_) return false;
  admin_ = admin;
  ++admin_generation_;
  return true;
}

void Principals::check_admin_token() {
  const auto found = read_admin_ ? read_admin_() : std::nullopt;
  if (found && set_admin(*found)) bell_.ring(kAdminTopic);
}

void Principals::replace_admin(const Digest& admin) {
  set_admin(admin);
  const Time now = clock_.now();
  for (const Token& token : store_.list_tokens(std::nullopt)) {
    if (token.kind == TokenKind::session && token.live(now)) (void)store_.revoke_token(token.id, now).take();
  }
  bell_.ring(kAdminTopic);
}

std::optional<std::uint64_t> Principals::admin_generation(const Digest& hash) const {
  const MutexLock lock(mutex_);
  return equal_constant_time(hash, admin_) ? std::optional(admin_generation_) : std::nullopt;
}

}  // namespace restante::desk
