// Verbs on workspaces and tokens that do not exist.
#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using ::testing::IsEmpty;

class RegistryEdgeCases : public StoreTest {
 protected:
  const WorkspaceId unknown = WorkspaceId::make(at(0));
};

RESTANTE_EVERY_BACKEND(RegistryEdgeCases);

TEST_P(RegistryEdgeCases, TheInboxOfAnUnknownWorkspaceIsEmptyAtAnyTime) {
  InboxQuery past;
  past.before = at(10);
  EXPECT_THAT(read(unknown, past), IsEmpty());
  InboxQuery recent;
  recent.not_before = at(10);
  EXPECT_THAT(read(unknown, recent), IsEmpty());
}

TEST_P(RegistryEdgeCases, ATokenOpenedByAnUnknownTokenIsNotAdded) {
  NewToken token{TokenKind::enrolment, {}, sha256("secret"), "prefix", "label", {}};
  token.opened_by = TokenId::make(at(0));
  EXPECT_ERROR(store->add_token(token, at(0)).take(), errors::invalid_token);
  NewWorkspace wanted;
  wanted.enrolment = token;
  EXPECT_ERROR(store->create_workspace(wanted, at(0)).take(), errors::invalid_token);
  EXPECT_THAT(store->list_workspaces(), IsEmpty()) << "nor is the workspace created";
  const auto workspace = make_workspace().id;
  EXPECT_FALSE(store->revoke_workspace_token(workspace, TokenId::make(at(0)), at(1)).take().value());
}

TEST_P(RegistryEdgeCases, EmptyAndUnknownUsesAndPollsAreAccepted) {
  EXPECT_TRUE(store->record_polls({}).take());
  EXPECT_TRUE(store->record_token_uses({}).take());
  const auto workspace = make_workspace().id;
  NewToken token{TokenKind::workspace, workspace, sha256("secret"), "prefix", "label", {}};
  const TokenId id = store->add_token(token, at(0)).take().value().id;
  const std::vector<std::pair<TokenId, Time>> uses{{id, at(7)}, {id, at(5)}, {TokenId::make(at(0)), at(9)}};
  EXPECT_TRUE(store->record_token_uses(uses).take());
  EXPECT_EQ(store->find_token(id)->last_used_at, at(7));
}

TEST_P(RegistryEdgeCases, AnEmptyListUnderAClaimStagesNothing) {
  const Claim claim{sha256("scope"), sha256("request"), at(99)};
  const ClaimedAnswer<std::vector<StagedUpload>> once{claim, [](const auto&) { return "answer"; }};
  EXPECT_THAT(store->stage_uploads(unknown, {}, until(at(9)), at(0), once).take().value(), IsEmpty());
  EXPECT_FALSE(store->find_answer(claim, at(1)).value()) << "nothing was claimed";
}

TEST_P(RegistryEdgeCases, ARemovedWorkspaceIsNotCreatedAgainByRegistering) {
  const auto workspace = make_workspace().id;
  remove(workspace);
  CheckedRegistration entry = registration_for(workspace);
  entry.create_as = "again";
  EXPECT_ERROR(store->register_agent(entry, at(1)).take(), errors::workspace_removed);
}

TEST_P(RegistryEdgeCases, AParentCanBeSetLater) {
  const auto parent = make_workspace("parent").id;
  const auto child = make_workspace("child").id;
  WorkspacePatch patch;
  patch.parent_id.emplace(parent);
  EXPECT_EQ(store->patch_workspace(child, patch, at(1)).take().value().parent_id, parent);
  EXPECT_EQ(store->ancestors(child), std::vector{parent});
  patch.parent_id.emplace(child);
  EXPECT_ERROR(store->patch_workspace(parent, patch, at(1)).take(), errors::bad_parent);
}

TEST_P(RegistryEdgeCases, ASecretOfAnUnknownWorkspaceIsNotKept) {
  EXPECT_ERROR(store->set_inbound_secret(unknown, "sealed", at(0)).take(), errors::workspace_not_found);
  EXPECT_ERROR(store->ensure_inbound_secret(unknown, {"sealed", ""}, at(0)).take(), errors::workspace_not_found);
  EXPECT_ERROR(store->record_heartbeat(unknown, {}, at(0)).take(), errors::workspace_not_found);
  EXPECT_ERROR(store->find_delivery(unknown), errors::workspace_not_found);
  EXPECT_ERROR(store->patch_workspace(unknown, {}, at(0)).take(), errors::workspace_not_found);
}

}  // namespace
}  // namespace restante::testing
