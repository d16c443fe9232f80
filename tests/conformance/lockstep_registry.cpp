#include "lockstep.h"

namespace restante::testing {

void LockstepProgram::create() {
  if (workspaces_.size() >= 6 && !one_in(10)) return;
  NewWorkspace given;
  if (one_in(2)) given.id = workspace();
  given.name = word();
  given.role = word();
  given.parent_id = perhaps_workspace();
  given.delivery_mode = one_in(2) ? DeliveryMode::poll : DeliveryMode::push;
  given.url = one_in(2) ? "" : "https://" + word() + ".example";
  const auto made = store_->create_workspace(given, now_).take();
  Workspace expected;
  if (given.id) expected.id = *given.id;
  if (!given.id && made) expected.id = made->id;
  expected.name = given.name;
  expected.role = given.role;
  expected.parent_id = given.parent_id;
  expected.delivery_mode = given.delivery_mode;
  expected.url = given.url;
  expected.created_at = expected.updated_at = now_;
  const auto error = model_.create(expected);
  EXPECT_EQ(show(made), error.empty() ? show(expected) : error);
  if (error.empty()) workspaces_.push_back(expected.id);
}

void LockstepProgram::register_agent() {
  CheckedRegistration entry = registration_for(one_in(6) ? WorkspaceId::make(now_) : workspace());
  if (one_in(3)) entry.create_as = word();
  if (one_in(2)) entry.delivery_mode = one_in(2) ? DeliveryMode::poll : DeliveryMode::push;
  if (!one_in(3)) entry.url = word();
  if (one_in(2)) entry.agent_card = "{\"name\":\"" + word() + "\"}";
  entry.first_only = one_in(4);
  if (one_in(2)) {
    entry.token = new_token();
    entry.token->kind = TokenKind::workspace;
    if (one_in(2)) entry.enrolment = some_token().first;
  }
  const bool fresh = !model_.workspaces.contains(entry.id);
  const auto [error, given] = model_.register_agent(entry, now_);
  auto result = store_->register_agent(entry, now_).take();
  EXPECT_EQ(result ? show(Result<Workspace>(result->workspace)) : std::string(result.error().code()),
            error.empty() ? model_.find(entry.id) : error);
  if (!error.empty() || !result) return;
  if (fresh) workspaces_.push_back(entry.id);
  EXPECT_EQ(result->token.has_value(), given);
  if (!given || !result->token) return;
  entry.token->workspace_id = entry.id;
  take_over(*entry.token, *result->token);
}

void LockstepProgram::beat() {
  const auto id = workspace();
  Heartbeat heartbeat{pick(5), word(), std::nullopt, pick(1000)};
  if (!one_in(4)) heartbeat.error_rate = pick(10) / 10.0;
  const auto result = store_->record_heartbeat(id, heartbeat, now_).take();
  EXPECT_EQ(result ? "" : std::string(result.error().code()), model_.beat(id, heartbeat, now_));
}

void LockstepProgram::poll() {
  std::vector<PollRecord> polls;
  for (int i = pick(4); i > 0; --i) polls.push_back({workspace(), now_ - std::chrono::seconds(pick(5))});
  for (const PollRecord& poll : polls) model_.poll(poll.id, poll.at);
  EXPECT_TRUE(store_->record_polls(polls).take());
}

NewToken LockstepProgram::new_token() {
  const auto fresh = make_token();
  constexpr TokenKind kKinds[] = {TokenKind::workspace, TokenKind::enrolment, TokenKind::sender, TokenKind::admin};
  NewToken given{kKinds[pick(4)], perhaps_workspace(), fresh.hash, fresh.prefix, word(), std::nullopt};
  if (one_in(2)) given.expires_at = now_ + std::chrono::seconds(pick(60));
  return given;
}

void LockstepProgram::take_over(const NewToken& given, const Result<Token>& added) {
  ASSERT_TRUE(added);
  const Token expected{added->id, given.kind, given.workspace_id, given.prefix, given.label,
                       now_,      {},         given.expires_at,   {},           given.opened_by};
  EXPECT_EQ(show(*added), show(expected));
  model_.add(expected, given.hash);
}

void LockstepProgram::add_token() {
  const auto given = new_token();
  take_over(given, store_->add_token(given, now_).take());
}

void LockstepProgram::revoke() {
  const auto id = some_token().first;
  EXPECT_EQ(store_->revoke_token(id, now_).take().value(), model_.revoke(id, now_));
}

void LockstepProgram::look_up() {
  const auto id = workspace();
  const auto found = store_->find_workspace(id);
  EXPECT_EQ(show(found), model_.find(id));
  const bool living = found && found->status != WorkspaceStatus::removed;
  EXPECT_EQ(store_->find_delivery(id).has_value(), living);
  EXPECT_EQ(store_->has_live_token(id, now_), model_.has_live_token(id, now_));
  const auto hash = some_token().second;
  const auto token = store_->find_token(hash);
  EXPECT_EQ(token ? show(*token) : "none", model_.find(hash));
  const auto file = some_file();
  const auto at = owner(file);
  EXPECT_EQ(show(store_->find_upload(at, file)), model_.find(at, file));
  Digest digest{};
  for (const auto& upload : model_.uploads) {
    if (upload.id == file) digest = upload.sha256;
  }
  const auto outgoing = store_->find_outgoing(at, digest, now_);
  EXPECT_EQ(outgoing ? show(*outgoing) : "none", model_.find_outgoing(at, digest, now_));
  const auto after = one_in(2) ? std::optional<FileId>(file) : std::nullopt;
  const int limit = pick(6);
  EXPECT_EQ(show(store_->list_waiting(at, after, limit, now_)), model_.list_waiting(at, after, limit, now_));
}

}  // namespace restante::testing
