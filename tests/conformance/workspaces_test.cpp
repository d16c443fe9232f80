#include <algorithm>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

class Workspaces : public StoreTest {
 protected:
  WorkspaceStatus beat(WorkspaceId id, std::optional<double> error_rate, Time now = at(1)) {
    Heartbeat heartbeat;
    heartbeat.error_rate = error_rate;
    EXPECT_TRUE(store->record_heartbeat(id, heartbeat, now).take());
    return store->find_workspace(id)->status;
  }
  void poll(WorkspaceId id, Time now) {
    const PollRecord polls[] = {{id, now}};
    ASSERT_TRUE(store->record_polls(polls).take());
  }
};
RESTANTE_EVERY_BACKEND(Workspaces);

TEST_P(Workspaces, ACreatedWorkspaceIsFoundUnchangedAlsoAfterReopening) {
  NewWorkspace given;
  given.name = "Anna's laptop — ünïcode ' ; -- % _";
  given.role = "researcher";
  given.parent_id = make_workspace().id;
  given.delivery_mode = DeliveryMode::push;
  given.url = "https://agent.example/a2a";
  const auto made = store->create_workspace(given, at(7)).take().value();
  reopen();
  const auto found = store->find_workspace(made.id).value();
  EXPECT_EQ(found.id, made.id);
  EXPECT_EQ(found.name, given.name);
  EXPECT_EQ(found.role, given.role);
  EXPECT_EQ(found.parent_id, given.parent_id);
  EXPECT_EQ(found.delivery_mode, DeliveryMode::push);
  EXPECT_EQ(found.url, given.url);
  EXPECT_EQ(found.agent_card, "");
  EXPECT_EQ(found.status, WorkspaceStatus::awaiting_agent);
  EXPECT_EQ(found.created_at, at(7));
  EXPECT_EQ(found.updated_at, at(7));
  EXPECT_FALSE(found.last_heartbeat_at);
  EXPECT_FALSE(found.last_poll_at);
}

TEST_P(Workspaces, AnIdThatIsTakenIsRefusedAndTheFirstStays) {
  NewWorkspace given;
  given.id = WorkspaceId::make(at(0));
  given.name = "first";
  ASSERT_TRUE(store->create_workspace(given, at(0)).take());
  given.name = "second";
  EXPECT_ERROR(store->create_workspace(given, at(1)).take(), errors::workspace_exists);
  EXPECT_EQ(store->find_workspace(*given.id)->name, "first");
}

TEST_P(Workspaces, AnUnknownWorkspaceIsNotFoundByAnyVerb) {
  const auto unknown = WorkspaceId::make(at(0));
  EXPECT_ERROR(store->find_workspace(unknown), errors::workspace_not_found);
  EXPECT_ERROR(store->find_delivery(unknown), errors::workspace_not_found);
  EXPECT_ERROR(store->register_agent(registration_for(unknown), at(0)).take(), errors::workspace_not_found);
  EXPECT_ERROR(store->record_heartbeat(unknown, {}, at(0)).take(), errors::workspace_not_found);
}

TEST_P(Workspaces, ADeliveryModeIsTheOneRegisteredLast) {
  const auto id = make_workspace().id;
  EXPECT_EQ(store->find_delivery(id).value(), DeliveryMode::poll);
  CheckedRegistration entry = registration_for(id);
  entry.delivery_mode = DeliveryMode::push;
  entry.url = "http://127.0.0.1:1/";
  ASSERT_TRUE(store->register_agent(entry, at(1)).take());
  EXPECT_EQ(store->find_delivery(id).value(), DeliveryMode::push);
  WorkspacePatch patch;
  patch.delivery_mode = DeliveryMode::poll;
  ASSERT_TRUE(store->patch_workspace(id, patch, at(2)).take());
  EXPECT_EQ(store->find_delivery(id).value(), DeliveryMode::poll);
}

TEST_P(Workspaces, ARegistrationWithoutAModeChangesNone) {
  const auto id = make_workspace().id;
  CheckedRegistration entry = registration_for(id);
  entry.url = "https://x.example";
  const auto registered = store->register_agent(entry, at(1)).take().value().workspace;
  EXPECT_EQ(registered.delivery_mode, DeliveryMode::poll) << "a url alone does not make it push";
  EXPECT_EQ(registered.url, "https://x.example");
  EXPECT_EQ(store->find_delivery(id).value(), DeliveryMode::poll);
  entry.delivery_mode = DeliveryMode::push;
  ASSERT_TRUE(store->register_agent(entry, at(2)).take());
  const auto again = store->register_agent(registration_for(id), at(3)).take().value().workspace;
  EXPECT_EQ(again.delivery_mode, DeliveryMode::push);
  EXPECT_EQ(again.url, "https://x.example") << "without a url the callback stays";
  entry.url.clear();
  EXPECT_ERROR(store->register_agent(entry, at(4)).take(), errors::bad_field);
  CheckedRegistration fresh = registration_for(WorkspaceId::make(at(0)));
  fresh.create_as = "new";
  fresh.url = "https://x.example";
  EXPECT_EQ(store->register_agent(fresh, at(5)).take()->workspace.delivery_mode, DeliveryMode::push);
  EXPECT_EQ(store->find_workspace(fresh.id)->url, "https://x.example");
}

TEST_P(Workspaces, TheListIsOldestFirstAndWithoutTheRemoved) {
  const auto second = make_workspace("second", at(2));
  const auto first = make_workspace("first", at(1));
  const auto removed = make_workspace("gone", at(0));
  remove(removed.id);
  const auto all = store->list_workspaces();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, first.id);
  EXPECT_EQ(all[1].id, second.id);
}

TEST_P(Workspaces, ARemovedWorkspaceIsFoundAsRemovedAndTakesNothingMore) {
  const auto workspace = make_workspace();
  remove(workspace.id);
  EXPECT_EQ(store->find_workspace(workspace.id)->status, WorkspaceStatus::removed);
  EXPECT_ERROR(store->find_delivery(workspace.id), errors::workspace_removed);
  EXPECT_ERROR(store->register_agent(registration_for(workspace.id), at(1)).take(), errors::workspace_removed);
  EXPECT_ERROR(store->record_heartbeat(workspace.id, {}, at(1)).take(), errors::workspace_removed);
  poll(workspace.id, at(5));
  EXPECT_EQ(store->find_workspace(workspace.id)->status, WorkspaceStatus::removed);
  EXPECT_FALSE(store->find_workspace(workspace.id)->last_poll_at);
}

TEST_P(Workspaces, RegisteringStoresTheAgentsDetailsAndCountsAsASignOfLife) {
  const auto workspace = make_workspace();
  CheckedRegistration entry = registration_for(workspace.id);
  entry.delivery_mode = DeliveryMode::push;
  entry.url = "https://x.example";
  entry.agent_card = R"({"name":"x"})";
  const auto answered = store->register_agent(entry, at(9)).take()->workspace;
  entry.agent_card.clear();
  ASSERT_TRUE(store->register_agent(entry, at(9)).take()) << "a registration without a card keeps the last one";
  const auto found = store->find_workspace(workspace.id);
  for (const auto* seen : {&answered, &*found}) {
    EXPECT_EQ(seen->delivery_mode, DeliveryMode::push);
    EXPECT_EQ(seen->url, "https://x.example");
    EXPECT_EQ(seen->agent_card, R"({"name":"x"})");
    EXPECT_EQ(seen->status, WorkspaceStatus::online);
    EXPECT_EQ(seen->last_heartbeat_at, at(9));
    EXPECT_EQ(seen->updated_at, at(9));
    EXPECT_EQ(seen->created_at, at(0));
  }
}

TEST_P(Workspaces, TheErrorRateDecidesBetweenOnlineAndDegraded) {
  const auto id = make_workspace().id;
  EXPECT_EQ(beat(id, std::nullopt), WorkspaceStatus::online) << "a beat without a rate brings it online";
  EXPECT_EQ(beat(id, 0.49), WorkspaceStatus::online);
  EXPECT_EQ(beat(id, 0.5), WorkspaceStatus::degraded);
  EXPECT_EQ(beat(id, 0.3), WorkspaceStatus::degraded) << "in between it stays what it was";
  EXPECT_EQ(beat(id, 0.1), WorkspaceStatus::degraded);
  EXPECT_EQ(beat(id, std::nullopt), WorkspaceStatus::degraded);
  EXPECT_EQ(beat(id, 0.0999), WorkspaceStatus::online);
}

TEST_P(Workspaces, ABeatInBetweenBringsAWaitingOneOnline) {
  EXPECT_EQ(beat(make_workspace().id, 0.3), WorkspaceStatus::online);
}

TEST_P(Workspaces, TheFieldsOfAHeartbeatAreStored) {
  const auto id = make_workspace().id;
  ASSERT_TRUE(store->record_heartbeat(id, {3, "reading", 0.25, 1234}, at(4)).take());
  ASSERT_TRUE(store->record_heartbeat(id, {2, "writing", std::nullopt, 1239}, at(9)).take());
  const auto found = store->find_workspace(id).value();
  EXPECT_EQ(found.active_tasks, 2);
  EXPECT_EQ(found.current_task, "writing");
  EXPECT_EQ(found.uptime_seconds, 1239);
  EXPECT_EQ(found.last_error_rate, 0.25) << "a beat that gives no rate leaves the last one";
  EXPECT_EQ(found.last_heartbeat_at, at(9));
}

TEST_P(Workspaces, PollsAreSignsOfLifeAndAnOlderOneUndoesNothing) {
  const auto a = make_workspace("a").id;
  const auto b = make_workspace("b").id;
  const PollRecord polls[] = {{a, at(20)}, {b, at(21)}, {WorkspaceId::make(at(0)), at(22)}};
  ASSERT_TRUE(store->record_polls(polls).take());
  poll(a, at(10));
  EXPECT_EQ(store->find_workspace(a)->last_poll_at, at(20));
  EXPECT_EQ(store->find_workspace(b)->last_poll_at, at(21));
  EXPECT_EQ(store->find_workspace(a)->status, WorkspaceStatus::online);
  EXPECT_FALSE(store->find_workspace(a)->last_heartbeat_at);
  EXPECT_TRUE(store->record_polls({}).take());
}

TEST_P(Workspaces, TheUsualGapOfPollsIsKeptUntilAnotherIsGiven) {
  const auto id = make_workspace().id;
  EXPECT_FALSE(store->find_workspace(id)->usual_poll_gap);
  const PollRecord known{id, at(1), std::chrono::microseconds(5'000'001)};
  ASSERT_TRUE(store->record_polls({&known, 1}).take());
  poll(id, at(2));
  reopen();
  EXPECT_EQ(store->find_workspace(id)->usual_poll_gap, std::chrono::microseconds(5'000'001));
  EXPECT_EQ(store->list_workspaces().at(0).usual_poll_gap, std::chrono::microseconds(5'000'001));
}

TEST_P(Workspaces, PollingWithACursorAcksForwardAndOnlyExistingRows) {
  const auto id = make_workspace().id;
  const auto other = make_workspace().id;
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  std::vector<Appended> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(store->append_to_inbox(id, row, at(i)).take().value());
  const auto foreign = store->append_to_inbox(other, row, at(9)).take().value();
  const auto acked_after = [&](std::int64_t seq, std::optional<InboxRowId> by_row) {
    const PollRecord record{id, at(10), std::nullopt, seq, by_row};
    EXPECT_TRUE(store->record_polls({&record, 1}).take());
    return store->find_head(id)->acked_seq;
  };
  EXPECT_EQ(acked_after(0, std::nullopt), 0);
  EXPECT_EQ(acked_after(2, std::nullopt), 2);
  EXPECT_EQ(acked_after(1, std::nullopt), 2);
  EXPECT_EQ(acked_after(0, rows[3].id), 4);
  EXPECT_EQ(acked_after(0, rows[0].id), 4);
  EXPECT_EQ(acked_after(0, foreign.id), 4);
  EXPECT_EQ(acked_after(0, InboxRowId::make(at(0))), 4);
  EXPECT_EQ(acked_after(99, std::nullopt), 5);
  EXPECT_EQ(store->find_head(other)->acked_seq, 0);
}

TEST_P(Workspaces, APollDoesNotEndDegradation) {
  const auto id = make_workspace().id;
  beat(id, 0.9);
  poll(id, at(20));
  EXPECT_EQ(store->find_workspace(id)->status, WorkspaceStatus::degraded);
}

TEST_P(Workspaces, CheckPassesOnALivingStore) { EXPECT_NO_THROW(store->check()); }

TEST_P(Workspaces, AStoreDescribesItsDatabaseAndTheNewestMigration) {
  const StoreFacts facts = store->describe();
  EXPECT_FALSE(facts.engine.empty());
  EXPECT_TRUE(facts.version[0] >= '0' && facts.version[0] <= '9') << facts.version;
  EXPECT_GT(facts.schema, 0);
  EXPECT_FALSE(facts.schema_name.empty());
}

std::vector<WorkspaceId> ids_of(const std::vector<Workspace>& workspaces) {
  std::vector<WorkspaceId> ids;
  for (const Workspace& workspace : workspaces) ids.push_back(workspace.id);
  return ids;
}

TEST_P(Workspaces, PagesOfTheListFollowEachOtherAlsoAmongThoseOfOneMoment) {
  std::vector<WorkspaceId> made;
  for (const int when : {0, 5, 5, 5, 9}) made.push_back(make_workspace("agent", at(when)).id);
  std::sort(made.begin() + 1, made.begin() + 4);
  remove(made[2]);
  made.erase(made.begin() + 2);
  EXPECT_EQ(ids_of(store->list_workspaces()), made);
  std::vector<WorkspaceId> paged;
  WorkspacePage page{{}, 1};
  for (auto some = store->list_workspaces(page); !some.empty(); some = store->list_workspaces(page)) {
    ASSERT_EQ(some.size(), 1u);
    paged.push_back(some.front().id);
    page.after = paged.back();
  }
  EXPECT_EQ(paged, made);
  page.after = WorkspaceId::make(at(0));
  EXPECT_TRUE(store->list_workspaces(page).empty()) << "after an unknown one";
  EXPECT_TRUE(store->list_workspaces({made[0], 0}).empty());
}

TEST_P(Workspaces, RelativesAreAncestorsDescendantsAndSiblings) {
  const auto make = [&](std::optional<WorkspaceId> parent, std::int64_t when) {
    NewWorkspace wanted;
    wanted.name = "agent";
    wanted.parent_id = parent;
    return store->create_workspace(wanted, at(when)).take()->id;
  };
  const auto root = make({}, 1);
  const auto child = make(root, 2);
  const auto sibling = make(root, 3);
  const auto grandchild = make(child, 4);
  const auto other_root = make({}, 5);
  make(other_root, 6);
  const auto removed = make(root, 7);
  remove(removed);
  const auto of = [&](WorkspaceId id, bool roots, const WorkspacePage& page = {}) {
    return ids_of(store->list_relatives(id, roots, page));
  };
  using Ids = std::vector<WorkspaceId>;
  EXPECT_EQ(of(child, false), (Ids{root, sibling, grandchild}));
  EXPECT_EQ(of(grandchild, true), (Ids{root, child}));
  EXPECT_EQ(of(root, true), (Ids{child, sibling, grandchild, other_root}));
  EXPECT_EQ(of(root, false), (Ids{child, sibling, grandchild}));
  EXPECT_EQ(of(root, true, {{}, 2}), (Ids{child, sibling}));
  EXPECT_EQ(of(root, true, {sibling, 2}), (Ids{grandchild, other_root}));
  EXPECT_EQ(of(WorkspaceId::make(at(0)), true), Ids{});
}

TEST_P(Workspaces, ASilenceIsRecordedOnceUntilTheNextPoll) {
  const auto silent = make_workspace().id;
  const auto never_polled = make_workspace().id;
  const auto polls = make_workspace().id;
  poll(silent, at(10));
  poll(polls, at(100));
  const auto quiet = store->list_quiet_agents(at(50));
  ASSERT_EQ(quiet.size(), 1u);
  EXPECT_EQ(quiet[0].id, silent);
  EXPECT_EQ(quiet[0].last_poll_at, at(10));
  const auto record = [&](std::vector<QuietAgent> agents) {
    return store->record_silences(std::move(agents), at(120)).take().value();
  };
  EXPECT_EQ(record({quiet[0], {never_polled, at(200)}, {polls, at(99)}}), std::vector<WorkspaceId>{silent})
      << "the others never polled, or have polled since";
  EXPECT_TRUE(record(quiet).empty()) << "another server has reported it";
  EXPECT_TRUE(store->is_reported_silent(silent));
  EXPECT_EQ(store->count_silent_agents(), 1);
  EXPECT_TRUE(store->list_quiet_agents(at(50)).empty());
  reopen();
  EXPECT_TRUE(store->is_reported_silent(silent));
  poll(silent, at(130));
  EXPECT_FALSE(store->is_reported_silent(silent));
  EXPECT_EQ(record({{silent, at(130)}, {polls, at(100)}}).size(), 2u);
  remove(silent);
  EXPECT_EQ(store->count_silent_agents(), 1) << "a removed workspace is not silent";
}

}  // namespace
}  // namespace restante::testing
