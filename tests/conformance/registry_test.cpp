#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

class Registry : public StoreTest {
 protected:
  Workspace child_of(WorkspaceId parent) {
    NewWorkspace given;
    given.name = "child";
    given.parent_id = parent;
    return store->create_workspace(given, at(0)).take().value();
  }
  static NewToken token_for(std::optional<WorkspaceId> workspace, TokenKind kind = TokenKind::workspace) {
    const auto fresh = make_token();
    return {kind, workspace, fresh.hash, fresh.prefix, "", {}};
  }
  static Claim claim(const std::string& key, const std::string& request, Time expires_at = at(1000)) {
    return {sha256(key), sha256(request), expires_at};
  }
};
RESTANTE_EVERY_BACKEND(Registry);

TEST_P(Registry, APatchChangesWhatItNamesAndNothingElse) {
  const auto before = make_workspace("old name");
  WorkspacePatch patch;
  patch.name = "new name";
  patch.agent_card = R"({"skills":[]})";
  ASSERT_TRUE(store->patch_workspace(before.id, patch, at(5)).take());
  reopen();
  const auto after = store->find_workspace(before.id).value();
  EXPECT_EQ(after.name, "new name");
  EXPECT_EQ(after.agent_card, R"({"skills":[]})");
  EXPECT_EQ(after.role, before.role);
  EXPECT_EQ(after.delivery_mode, before.delivery_mode);
  EXPECT_EQ(after.updated_at, at(5));
}

TEST_P(Registry, AParentMustExistAndMustNotBeADescendant) {
  const auto top = make_workspace();
  const auto middle = child_of(top.id);
  const auto bottom = child_of(middle.id);
  const auto removed = make_workspace();
  remove(removed.id);
  for (const auto parent : {top.id, middle.id, bottom.id, removed.id, WorkspaceId::make(at(0))}) {
    WorkspacePatch patch;
    patch.parent_id.emplace(parent);
    EXPECT_TRUE(store->patch_workspace(top.id, patch, at(1)).take().error().is(errors::bad_parent));
  }
  WorkspacePatch none;
  none.parent_id.emplace(std::nullopt);
  EXPECT_FALSE(store->patch_workspace(bottom.id, none, at(1)).take().value().parent_id);
}

TEST_P(Registry, AncestorsAreNearestFirst) {
  const auto top = make_workspace();
  const auto middle = child_of(top.id);
  const auto bottom = child_of(middle.id);
  EXPECT_EQ(store->ancestors(bottom.id), (std::vector{middle.id, top.id}));
  EXPECT_TRUE(store->ancestors(top.id).empty());
}

TEST_P(Registry, ARemovedWorkspaceLosesItsTokensAndKeepsItsRows) {
  const auto workspace = make_workspace();
  append(workspace.id, message("evidence"));
  const auto given = token_for(workspace.id);
  const auto token = store->add_token(given, at(0)).take().value();
  EXPECT_EQ(store->remove_workspace(workspace.id, at(1)).take().value(), std::vector{token.id});
  EXPECT_FALSE(store->find_token(given.hash)->live(at(1)));
  EXPECT_EQ(inbox_of(workspace.id).size(), 1u);
  EXPECT_TRUE(store->remove_workspace(workspace.id, at(2)).take().error().is(errors::workspace_removed));
  EXPECT_TRUE(store->remove_workspace(WorkspaceId::make(at(0)), at(2)).take().error().is(errors::workspace_not_found));
}

TEST_P(Registry, SilentWorkspacesGoOfflineOnce) {
  const auto silent = make_workspace();
  const auto polling = make_workspace();
  const auto never_seen = make_workspace();
  for (const auto& id : {silent.id, polling.id}) ASSERT_TRUE(store->record_heartbeat(id, {}, at(0)).take());
  const PollRecord poll{polling.id, at(100)};
  ASSERT_TRUE(store->record_polls({&poll, 1}).take());
  const auto changes = store->set_unseen_agents_offline(at(50), at(140)).take().value();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].id, silent.id);
  EXPECT_EQ(store->find_workspace(silent.id)->status, WorkspaceStatus::offline);
  EXPECT_EQ(store->find_workspace(polling.id)->status, WorkspaceStatus::online);
  EXPECT_EQ(store->find_workspace(never_seen.id)->status, WorkspaceStatus::awaiting_agent);
  EXPECT_TRUE(store->set_unseen_agents_offline(at(50), at(141)).take().value().empty());
}

TEST_P(Registry, FiftyTokensAreTheLimitAndRevokingOneMakesRoom) {
  const auto workspace = make_workspace().id;
  const auto first = store->add_token(token_for(workspace), at(0)).take().value();
  for (int i = 1; i < 50; ++i) ASSERT_TRUE(store->add_token(token_for(workspace), at(0)).take());
  EXPECT_TRUE(store->add_token(token_for(workspace), at(0)).take().error().is(errors::too_many_tokens));
  EXPECT_FALSE(store->revoke_workspace_token(make_workspace().id, first.id, at(1)).take().value())
      << "of another workspace";
  EXPECT_TRUE(store->revoke_workspace_token(workspace, first.id, at(1)).take().value());
  EXPECT_FALSE(store->revoke_workspace_token(workspace, first.id, at(2)).take().value());
  EXPECT_TRUE(store->add_token(token_for(workspace), at(3)).take());
}

TEST_P(Registry, AnEnrolmentWithoutAWorkspaceMakesOneOnce) {
  const auto enrolment = store->add_token(token_for({}, TokenKind::enrolment), at(0)).take().value();
  const auto entry = [&] {
    CheckedRegistration made = registration_for(WorkspaceId::make(at(0)));
    made.create_as = "laptop";
    made.enrolment = enrolment.id;
    made.token = token_for({});
    return made;
  };
  const CheckedRegistration first = entry();
  const auto made = store->register_agent(first, at(1)).take().value();
  EXPECT_EQ(made.workspace.name, "laptop");
  EXPECT_EQ(store->find_token(first.token->hash)->workspace_id, made.workspace.id);
  EXPECT_TRUE(store->register_agent(entry(), at(2)).take().error().is(errors::invalid_token));
  EXPECT_EQ(store->list_workspaces().size(), 1u) << "the second workspace was undone with it";
}

TEST_P(Registry, AnEnrolmentForANewWorkspaceGivesNoRightToAnExistingOne) {
  const auto enrolment = store->add_token(token_for({}, TokenKind::enrolment), at(0)).take().value();
  CheckedRegistration entry = registration_for(make_workspace().id);
  entry.create_as = "laptop";
  entry.enrolment = enrolment.id;
  entry.token = token_for({});
  EXPECT_TRUE(store->register_agent(entry, at(1)).take().error().is(errors::workspace_exists));
  EXPECT_TRUE(store->find_token(enrolment.id)->live(at(1))) << "and is not used up";
}

TEST_P(Registry, OfManyFirstRegistrationsAtOnceOneSucceeds) {
  const auto id = WorkspaceId::make(at(0));
  std::vector<Commit<Result<RegisteredWorkspace>>> commits;
  for (int i = 0; i < 20; ++i) {
    CheckedRegistration entry = registration_for(id);
    entry.create_as = "laptop";
    entry.first_only = true;
    entry.token = token_for({});
    commits.push_back(store->register_agent(entry, at(1)));
  }
  int registered = 0;
  for (auto& commit : commits) {
    const auto result = commit.take();
    if (result) ++registered;
    EXPECT_TRUE(result ? result->token.has_value() : result.error().is(errors::invalid_token));
  }
  EXPECT_EQ(registered, 1);
  EXPECT_EQ(store->list_tokens(id).size(), 1u);
}

TEST_P(Registry, ARegistrationStoresTheInboundSecretOfAPushWorkspace) {
  const auto id = make_workspace().id;
  CheckedRegistration entry = registration_for(id);
  entry.inbound_secret = NewInboundSecret{"first", ""};
  EXPECT_EQ(store->register_agent(entry, at(1)).take()->inbound_secret, "") << "it is poll";
  EXPECT_EQ(store->find_inbound_secret(id), "");
  entry.delivery_mode = DeliveryMode::push;
  entry.url = "https://x.example";
  EXPECT_EQ(store->register_agent(entry, at(2)).take()->inbound_secret, "first");
  EXPECT_EQ(store->find_inbound_secret(id), "first");
  entry.inbound_secret = NewInboundSecret{"second", ""};
  EXPECT_EQ(store->register_agent(entry, at(3)).take()->inbound_secret, "first") << "there is one";
  entry.inbound_secret = NewInboundSecret{"third", "first"};
  EXPECT_EQ(store->register_agent(entry, at(4)).take()->inbound_secret, "third");
  entry.inbound_secret.reset();
  EXPECT_EQ(store->register_agent(entry, at(5)).take()->inbound_secret, "third");
  entry.enrolment = TokenId::make(at(0));
  entry.token = token_for({});
  entry.inbound_secret = NewInboundSecret{"fourth", "third"};
  EXPECT_ERROR(store->register_agent(entry, at(6)).take(), errors::invalid_token);
  EXPECT_EQ(store->find_inbound_secret(id), "third") << "refused, so nothing is stored";
}

TEST_P(Registry, AWorkspaceWithALiveTokenGetsNoOther) {
  const auto id = make_workspace().id;
  CheckedRegistration entry = registration_for(id);
  entry.token = token_for({});
  EXPECT_TRUE(store->register_agent(entry, at(1)).take()->token);
  entry.token = token_for({});
  EXPECT_FALSE(store->register_agent(entry, at(2)).take()->token);
  EXPECT_EQ(store->list_tokens(id).size(), 1u);
}

TEST_P(Registry, ACycleIsRefusedHoweverLongItIs) {
  const auto root = make_workspace().id;
  auto leaf = root;
  for (int i = 0; i < 40; ++i) {
    NewWorkspace below;
    below.name = "below";
    below.parent_id = leaf;
    leaf = store->create_workspace(below, at(0)).take()->id;
  }
  WorkspacePatch patch;
  patch.parent_id = std::optional<WorkspaceId>(leaf);
  EXPECT_TRUE(store->patch_workspace(root, patch, at(1)).take().error().is(errors::bad_parent));
}

TEST_P(Registry, AClaimHasOneEffectAndGivesTheFirstAnswerAgain) {
  const auto workspace = make_workspace().id;
  const auto render = [](const Appended& appended) { return "seq " + std::to_string(appended.seq); };
  const auto send = [&](const Claim& with, Time now) {
    return store->append_to_inbox(workspace, message("hello"), now, ClaimedAnswer<Appended>{with, render}).take();
  };
  ASSERT_TRUE(send(claim("key", "request"), at(0)));
  reopen();
  EXPECT_EQ(earlier_answer_of(send(claim("key", "request"), at(1))), "seq 1");
  EXPECT_TRUE(send(claim("key", "another request"), at(1)).error().is(errors::idempotency_mismatch));
  EXPECT_TRUE(send(claim("another key", "request"), at(1)));
  EXPECT_TRUE(send(claim("key", "another request", at(9000)), at(1000))) << "the first claim has expired";
  EXPECT_EQ(inbox_of(workspace).size(), 3u);
}

TEST_P(Registry, TheAnswerOfAClaimIsFoundWithoutTryingAgain) {
  const auto workspace = make_workspace().id;
  EXPECT_EQ(store->find_answer(claim("key", "request"), at(0)).value(), std::nullopt);
  const ClaimedAnswer<Appended> once{claim("key", "request"), [](const Appended&) { return "kept"; }};
  ASSERT_TRUE(store->append_to_inbox(workspace, message("hello"), at(0), once).take());
  reopen();
  EXPECT_EQ(store->find_answer(claim("key", "request"), at(1)).value(), "kept");
  EXPECT_TRUE(store->find_answer(claim("key", "another request"), at(1)).error().is(errors::idempotency_mismatch));
  EXPECT_EQ(store->find_answer(claim("another key", "request"), at(1)).value(), std::nullopt);
  EXPECT_EQ(store->find_answer(claim("key", "request"), at(1000)).value(), std::nullopt) << "it has expired";
}

TEST_P(Registry, AWorkspaceIsCreatedWithItsEnrolmentOrNotAtAll) {
  NewWorkspace wanted;
  wanted.name = "laptop";
  wanted.enrolment = token_for({}, TokenKind::enrolment);
  const auto made = store->create_workspace(wanted, at(0)).take().value();
  reopen();
  const auto token = store->find_token(wanted.enrolment->hash);
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->kind, TokenKind::enrolment);
  EXPECT_EQ(token->workspace_id, made.id);
  NewWorkspace again = wanted;
  again.id = made.id;
  again.enrolment = token_for({}, TokenKind::enrolment);
  EXPECT_TRUE(store->create_workspace(again, at(1)).take().error().is(errors::workspace_exists));
  EXPECT_FALSE(store->find_token(again.enrolment->hash)) << "nothing was added";
}

TEST_P(Registry, AClaimedWorkspaceHasOneEnrolment) {
  NewWorkspace wanted;
  wanted.name = "laptop";
  wanted.enrolment = token_for({}, TokenKind::enrolment);
  const ClaimedAnswer<Workspace> once{claim("k", "r"), [](const Workspace& made) { return made.id.text(); }};
  const auto first = store->create_workspace(wanted, at(0), once).take().value();
  NewWorkspace repeated = wanted;
  repeated.enrolment = token_for({}, TokenKind::enrolment);
  EXPECT_EQ(earlier_answer_of(store->create_workspace(repeated, at(1), once).take()), first.id.text());
  EXPECT_TRUE(store->find_token(wanted.enrolment->hash));
  EXPECT_FALSE(store->find_token(repeated.enrolment->hash));
  EXPECT_EQ(store->list_workspaces().size(), 1u);
}

TEST_P(Registry, AClaimWhoseEffectFailsIsNotKept) {
  NewWorkspace wanted;
  wanted.name = "a";
  wanted.parent_id = WorkspaceId::make(at(0));
  const ClaimedAnswer<Workspace> once{claim("k", "r"), [](const Workspace& made) { return made.id.text(); }};
  EXPECT_TRUE(store->create_workspace(wanted, at(0), once).take().error().is(errors::bad_parent));
  wanted.parent_id.reset();
  EXPECT_TRUE(store->create_workspace(wanted, at(1), once).take());
}

TEST_P(Registry, AnAckOnlyMovesForwardAndNeverBeyondTheHead) {
  const auto workspace = make_workspace().id;
  for (int i = 0; i < 3; ++i) append(workspace, message("m"));
  EXPECT_EQ(store->ack_inbox(workspace, 2).take().value(), 2);
  EXPECT_EQ(store->ack_inbox(workspace, 1).take().value(), 2);
  EXPECT_EQ(store->ack_inbox(workspace, 99).take().value(), 3);
  EXPECT_EQ(store->find_head(workspace)->acked_seq, 3);
  EXPECT_TRUE(store->ack_inbox(WorkspaceId::make(at(0)), 1).take().error().is(errors::workspace_not_found));
}

TEST_P(Registry, RetentionKeepsUnreadRowsUntilTheCeiling) {
  const auto workspace = make_workspace().id;
  append(workspace, message("consumed"), at(10));
  append(workspace, message("not consumed"), at(20));
  NewInboxRow audit = message("audit");
  audit.activity_type = "agent_log";
  append(workspace, audit, at(30));
  append(workspace, message("young"), at(500));
  ASSERT_TRUE(store->ack_inbox(workspace, 1).take());
  EXPECT_EQ(store->prune(at(100), at(0), at(600), 100).take()->rows, 2);
  std::vector<std::int64_t> left;
  for (const auto& row : inbox_of(workspace)) left.push_back(row.seq);
  EXPECT_EQ(left, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(store->prune(at(100), at(25), at(600), 100).take()->rows, 1) << "past the hard ceiling";
  EXPECT_EQ(append(workspace, message("next"), at(700)).seq, 5) << "numbers are never used again";
}

TEST_P(Registry, RetentionGoesInBoundedSteps) {
  const auto workspace = make_workspace().id;
  for (int i = 0; i < 5; ++i) append(workspace, message("m"), at(i));
  ASSERT_TRUE(store->ack_inbox(workspace, 5).take());
  EXPECT_EQ(store->prune(at(100), at(0), at(600), 3).take()->rows, 3);
  EXPECT_EQ(inbox_of(workspace).front().seq, 4) << "the oldest go first";
  EXPECT_EQ(store->prune(at(100), at(0), at(600), 3).take()->rows, 2);
  EXPECT_EQ(store->prune(at(100), at(0), at(600), 3).take()->rows, 0);
}

TEST_P(Registry, AnInboundSecretIsKeptAsItWasSealed) {
  const auto workspace = make_workspace().id;
  EXPECT_EQ(store->find_inbound_secret(workspace), "");
  ASSERT_TRUE(store->set_inbound_secret(workspace, "sealed bytes", at(0)).take());
  const std::string opaque("\0\xff other bytes", 14);
  ASSERT_TRUE(store->set_inbound_secret(workspace, opaque, at(1)).take());
  reopen();
  EXPECT_EQ(store->find_inbound_secret(workspace), opaque);
  EXPECT_EQ(store->ensure_inbound_secret(workspace, {"new", ""}, at(2)).take().value(), opaque);
  EXPECT_EQ(store->ensure_inbound_secret(workspace, {"new", opaque}, at(2)).take().value(), "new");
  EXPECT_EQ(store->find_inbound_secret(workspace), "new");
  const auto other = make_workspace().id;
  EXPECT_EQ(store->ensure_inbound_secret(other, {"first", ""}, at(2)).take().value(), "first");
  EXPECT_EQ(store->ensure_inbound_secret(other, {"second", ""}, at(2)).take().value(), "first");
}

}  // namespace
}  // namespace restante::testing
