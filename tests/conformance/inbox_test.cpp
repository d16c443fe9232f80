#include <gmock/gmock.h>

#include <algorithm>

#include "backends.h"
#include "model/errors.h"
#include "model/inbox_epoch.h"

namespace restante::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Inbox : public StoreTest {
 protected:
  static InboxQuery since(std::int64_t seq) {
    InboxQuery query;
    query.since_seq = seq;
    return query;
  }
  std::vector<std::string> summaries(WorkspaceId workspace, const InboxQuery& query) {
    std::vector<std::string> all;
    for (const auto& row : read(workspace, query)) all.push_back(row.summary);
    return all;
  }
};
RESTANTE_EVERY_BACKEND(Inbox);

TEST_P(Inbox, ARowIsReadBackWithEveryFieldAlsoAfterReopening) {
  const auto workspace = make_workspace().id;
  NewInboxRow given = message("hé'llo — \"%_", "m-1");
  given.source_id = WorkspaceId::make(at(0));
  given.target_id = workspace;
  given.response_body = R"({"result":1.50})";
  given.status = "error";
  given.error_detail = "it broke";
  given.duration_ms = 0;
  given.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto appended = append(workspace, given, at(5));
  reopen();
  const auto rows = inbox_of(workspace);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, appended.id);
  EXPECT_EQ(rows[0].seq, 1);
  EXPECT_EQ(rows[0].workspace_id, workspace);
  EXPECT_EQ(rows[0].created_at, at(5));
  EXPECT_EQ(rows[0].activity_type, given.activity_type);
  EXPECT_EQ(rows[0].method, given.method);
  EXPECT_EQ(rows[0].summary, given.summary);
  EXPECT_EQ(rows[0].source_id, given.source_id);
  EXPECT_EQ(rows[0].target_id, given.target_id);
  EXPECT_EQ(rows[0].request_body, given.request_body);
  EXPECT_EQ(rows[0].response_body, given.response_body);
  EXPECT_EQ(rows[0].status, "error");
  EXPECT_EQ(rows[0].error_detail, "it broke");
  EXPECT_EQ(rows[0].duration_ms, 0);
  EXPECT_EQ(rows[0].message_id, "m-1");
  EXPECT_EQ(rows[0].traceparent, given.traceparent);
}

TEST_P(Inbox, FieldsThatWereNotSetAreReadBackEmpty) {
  const auto workspace = make_workspace().id;
  NewInboxRow given;
  given.activity_type = "agent_log";
  append(workspace, given);
  const auto row = inbox_of(workspace).at(0);
  EXPECT_FALSE(row.source_id);
  EXPECT_FALSE(row.target_id);
  EXPECT_FALSE(row.duration_ms);
  EXPECT_EQ(row.request_body + row.response_body + row.error_detail + row.message_id + row.traceparent, "");
  EXPECT_EQ(row.status, "ok");
}

TEST_P(Inbox, SeqCountsFromOneInEachWorkspace) {
  const auto a = make_workspace("a").id;
  const auto b = make_workspace("b").id;
  EXPECT_EQ(append(a, message("1")).seq, 1);
  EXPECT_EQ(append(a, message("2")).seq, 2);
  EXPECT_EQ(append(b, message("1")).seq, 1);
  reopen();
  EXPECT_EQ(append(a, message("3")).seq, 3);
}

TEST_P(Inbox, CreatedAtNeverGoesBackAlongSeq) {
  const auto workspace = make_workspace().id;
  append(workspace, message("now"), at(100));
  append(workspace, message("the clock went back"), at(50));
  reopen();
  append(workspace, message("still back"), at(60));
  append(workspace, message("caught up"), at(101));
  std::vector<Time> times;
  for (const auto& row : inbox_of(workspace)) times.push_back(row.created_at);
  EXPECT_THAT(times, ElementsAre(at(100), at(100), at(100), at(101)));
}

TEST_P(Inbox, NothingIsAppendedForAnUnknownOrRemovedWorkspace) {
  const auto unknown = WorkspaceId::make(at(0));
  EXPECT_ERROR(store->append_to_inbox(unknown, message("x"), at(0)).take(), errors::workspace_not_found);
  EXPECT_THAT(inbox_of(unknown), IsEmpty());
  const auto removed = make_workspace().id;
  append(removed, message("evidence"));
  remove(removed);
  EXPECT_ERROR(store->append_to_inbox(removed, message("x"), at(0)).take(), errors::workspace_removed);
  EXPECT_THAT(summaries(removed, since(0)), ElementsAre("evidence")) << "its rows stay readable";
}

TEST_P(Inbox, WithACursorTheAnswerAscendsFromItWithoutOneItDescends) {
  const auto workspace = make_workspace().id;
  InboxQuery by_id;
  for (const char* text : {"1", "2", "3", "4"}) {
    const auto appended = append(workspace, message(text));
    if (std::string(text) == "2") by_id.since_id = appended.id;
  }
  EXPECT_THAT(summaries(workspace, {}), ElementsAre("4", "3", "2", "1"));
  EXPECT_THAT(summaries(workspace, since(0)), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(summaries(workspace, since(2)), ElementsAre("3", "4"));
  EXPECT_THAT(summaries(workspace, by_id), ElementsAre("3", "4"));
  EXPECT_THAT(summaries(workspace, since(4)), IsEmpty());
}

TEST_P(Inbox, ACursorThatNamesNoRowOfThisWorkspaceIsGone) {
  const auto workspace = make_workspace().id;
  const auto other = make_workspace().id;
  const auto foreign = append(other, message("foreign"));
  append(other, message("foreign"));
  append(workspace, message("own"));
  for (const auto id : {foreign.id, InboxRowId(), InboxRowId::make(at(0))}) {
    InboxQuery query;
    query.since_id = id;
    EXPECT_ERROR(store->read_inbox(workspace, query), errors::cursor_gone);
  }
  for (const std::int64_t seq : {std::int64_t{2}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_ERROR(store->read_inbox(workspace, since(seq)), errors::cursor_gone);
  }
  EXPECT_THAT(summaries(workspace, since(0)), ElementsAre("own"));
  EXPECT_THAT(summaries(make_workspace().id, since(0)), IsEmpty()) << "0 works on an empty inbox too";
}

TEST_P(Inbox, AfterARestoreNoNumberIsGivenAgainAndCursorsOfLostRowsAreGone) {
  const auto workspace = make_workspace().id;
  const auto empty = make_workspace().id;
  append(workspace, message("kept"), at(1));
  // The client has read a row with the number 2, which the restored copy does not have.
  const Epoch begun = store->begin_epoch(at(100)).take().value();
  EXPECT_EQ(begun.inboxes, 2);
  EXPECT_FALSE(begun.clock_is_behind);
  EXPECT_ERROR(store->read_inbox(workspace, since(2)), errors::cursor_gone);
  const std::int64_t first = append(workspace, message("new"), at(100)).seq;
  EXPECT_EQ(first, seq_of_epoch(at(100)) + 1);
  EXPECT_EQ(append(workspace, message("newer"), at(101)).seq, first + 1);
  EXPECT_EQ(append(empty, message("first"), at(101)).seq, first) << "its first rows may have been lost, too";
  EXPECT_ERROR(store->read_inbox(workspace, since(2)), errors::cursor_gone);
  EXPECT_THAT(summaries(workspace, since(1)), ElementsAre("new", "newer")) << "the row is still there";
  EXPECT_THAT(summaries(workspace, since(0)), ElementsAre("kept", "new", "newer"));
  InboxQuery by_time;
  by_time.not_before = at(101);
  EXPECT_THAT(summaries(workspace, by_time), ElementsAre("newer"));
}

TEST_P(Inbox, AnEpochBeginsAboveAllNumbersAlsoWhenTheClockIsBehind) {
  const auto workspace = make_workspace().id;
  ASSERT_FALSE(store->begin_epoch(at(100)).take()->clock_is_behind);
  ASSERT_FALSE(store->begin_epoch(at(100)).take()->clock_is_behind) << "no number of that epoch was given";
  const std::int64_t kept = append(workspace, message("kept"), at(100)).seq;
  // Rows after it were lost; the client has read a million of them.
  const auto begun = store->begin_epoch(at(50)).take().value();
  EXPECT_TRUE(begun.clock_is_behind);
  EXPECT_EQ(begun.inboxes, 1);
  EXPECT_ERROR(store->read_inbox(workspace, since(kept + 1'000'000)), errors::cursor_gone);
  const std::int64_t first = append(workspace, message("new"), at(101)).seq;
  EXPECT_GT(first, kept + (std::int64_t{1} << 36));
  EXPECT_LT(first, std::int64_t{1} << 53) << "every client can read the number";
  EXPECT_THAT(summaries(workspace, since(kept)), ElementsAre("new"));
}

// What an earlier restore of the same copy began with may be lost, too.
TEST(InboxEpoch, TwoRestoresOfOneCopyWithAClockThatIsBehindDoNotBeginAlike) {
  const std::int64_t largest = seq_of_epoch(at(1'000'000));
  const std::int64_t first = seq_of_epoch(at(50), largest);
  EXPECT_GT(seq_of_epoch(at(60), largest), first + 10'000);
  EXPECT_GT(seq_of_epoch(Time(), largest), largest) << "a clock that was never set";
}

TEST_P(Inbox, AFileThatAMessageNamesIsFoundAmongAllRows) {
  const auto workspace = make_workspace().id;
  const auto other = make_workspace().id;
  const auto by_agent = FileId::make(at(0));
  const auto by_person = FileId::make(at(0));
  const auto by_nobody = FileId::make(at(0));
  const auto part = [&](FileId id) {
    return R"({"kind":"file","file":{"uri":")" + pending_uri(workspace, id) + "\"}}";
  };
  NewInboxRow notify = message("here");
  notify.method = "notify";
  notify.request_body.clear();
  notify.response_body = R"({"result":"here","parts":[)" + part(by_agent) + "," + part(by_agent) + "]}";
  append(workspace, notify);
  append(workspace, notify);
  NewInboxRow sent = message("look");
  sent.request_body = R"({"params":{"message":{"parts":[)" + part(by_person) + "]}}}";
  append(workspace, sent);
  NewInboxRow text = message("text");
  text.request_body =
      R"({"params":{"message":{"parts":[{"text":"\"uri\":\")" + pending_uri(workspace, by_nobody) + R"(\""}]}}})";
  append(workspace, text);
  const std::vector<FileId> all{by_nobody, by_person, by_agent};
  EXPECT_THAT(store->find_named_files(workspace, NamedBy::agent, all), ElementsAre(by_agent));
  EXPECT_THAT(store->find_named_files(workspace, NamedBy::person, all), ElementsAre(by_person));
  EXPECT_THAT(store->find_named_files(other, NamedBy::agent, all), IsEmpty());
  EXPECT_THAT(store->find_named_files(workspace, NamedBy::agent, {}), IsEmpty());
}

TEST_P(Inbox, TypeIsExactAndChatUploadReceiveSelectsByMethod) {
  const auto workspace = make_workspace().id;
  append(workspace, message("text"));
  NewInboxRow other = message("log");
  other.activity_type = "agent_log";
  append(workspace, other);
  stage(workspace, file("a.txt"));
  InboxQuery query = since(0);
  query.type = "a2a_receive";
  EXPECT_THAT(summaries(workspace, query), ElementsAre("text", "chat_upload_receive: a.txt"));
  query.type = "chat_upload_receive";
  EXPECT_THAT(summaries(workspace, query), ElementsAre("chat_upload_receive: a.txt"));
  query.type = "a2a_%";
  EXPECT_THAT(summaries(workspace, query), IsEmpty());
}

TEST_P(Inbox, SourceSeparatesPeopleFromAgentsAndPeerIsEitherEnd) {
  const auto workspace = make_workspace().id;
  const auto peer = WorkspaceId::make(at(0));
  append(workspace, message("person"));
  NewInboxRow from = message("from peer");
  from.source_id = peer;
  append(workspace, from);
  NewInboxRow to = message("to peer");
  to.target_id = peer;
  append(workspace, to);
  InboxQuery query = since(0);
  query.source = InboxQuery::Source::canvas;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("person", "to peer"));
  query.source = InboxQuery::Source::agent;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("from peer"));
  query.source = InboxQuery::Source::any;
  query.peer = peer;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("from peer", "to peer"));
  query.peer = WorkspaceId::make(at(0));
  EXPECT_THAT(summaries(workspace, query), IsEmpty());
}

TEST_P(Inbox, TimesFilterAndDoNotReverseTheOrder) {
  const auto workspace = make_workspace().id;
  for (int i = 0; i < 10; ++i) append(workspace, message(std::to_string(i)), at(i / 2 * 10));
  InboxQuery query;
  query.not_before = at(30);
  EXPECT_THAT(summaries(workspace, query), ElementsAre("9", "8", "7", "6"));
  query.before = at(40);
  EXPECT_THAT(summaries(workspace, query), ElementsAre("7", "6"));
  query.not_before.reset();
  query.before = at(10);
  EXPECT_THAT(summaries(workspace, query), ElementsAre("1", "0"));
  query.before = at(0);
  EXPECT_THAT(summaries(workspace, query), IsEmpty());
  query.before = at(1'000'000);
  query.not_before = at(-5);
  query.limit = 2;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("9", "8"));
  query.not_before = at(41);
  EXPECT_THAT(summaries(workspace, query), IsEmpty());
  InboxQuery with_cursor = since(3);
  with_cursor.before = at(30);
  EXPECT_THAT(summaries(workspace, with_cursor), ElementsAre("3", "4", "5"));
}

TEST_P(Inbox, AStepOfPruningEndsAtItsLimitAcrossSeveralInboxes) {
  std::vector<WorkspaceId> workspaces;
  for (int i = 0; i < 3; ++i) {
    workspaces.push_back(make_workspace().id);
    for (const char* text : {"a", "b"}) append(workspaces.back(), message(text));
    ASSERT_TRUE(store->ack_inbox(workspaces.back(), 2).take());
  }
  const auto left = [&] {
    std::size_t rows = 0;
    for (const auto& workspace : workspaces) rows += summaries(workspace, {}).size();
    return rows;
  };
  EXPECT_EQ(store->prune(at(1'000'000), at(0), at(0), 2).take()->rows, 2);
  EXPECT_EQ(left(), 4u);
  EXPECT_EQ(store->prune(at(1'000'000), at(0), at(0), 3).take()->rows, 3);
  EXPECT_EQ(left(), 1u);
  EXPECT_EQ(store->prune(at(1'000'000), at(0), at(0), 100).take()->rows, 1);
}

TEST_P(Inbox, AnUnknownWorkspaceHasNoHead) {
  EXPECT_ERROR(store->find_head(WorkspaceId::make(at(0))), errors::workspace_not_found);
}

TEST_P(Inbox, APositionNeedNotNameAnExistingRow) {
  const auto workspace = make_workspace().id;
  for (const char* text : {"a", "b", "c", "d"}) append(workspace, message(text));
  InboxQuery query;
  query.above_seq = 2;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("c", "d"));
  query.below_seq = 4;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("c"));
  query.above_seq.reset();
  EXPECT_THAT(summaries(workspace, query), ElementsAre("c", "b", "a"));
  query.below_seq = 1;
  EXPECT_THAT(summaries(workspace, query), IsEmpty());
  ASSERT_TRUE(store->ack_inbox(workspace, 4).take());
  ASSERT_EQ(store->prune(at(1'000'000), at(1'000'000), at(0), 100).take()->rows, 4);
  append(workspace, message("e"));
  InboxQuery later;
  later.above_seq = 4;
  EXPECT_THAT(summaries(workspace, later), ElementsAre("e"));
  EXPECT_ERROR(store->read_inbox(workspace, since(4)), errors::cursor_gone);
}

TEST_P(Inbox, TheChatHasMessagesOfPeopleAndTheAgentAndTheirFiles) {
  const auto workspace = make_workspace().id;
  const auto peer = WorkspaceId::make(at(0));
  for (const char* type : {"a2a_receive", "a2a_send", "upload_receipt", "agent_log"}) {
    for (const char* method : {"message/send", "notify", "chat_upload_receive", "delegate_result", ""}) {
      for (const auto& target : {std::optional(workspace), std::optional(peer), std::optional<WorkspaceId>()}) {
        for (const auto& source : {std::optional<WorkspaceId>(), std::optional(peer)}) {
          NewInboxRow row;
          row.activity_type = type;
          row.method = method;
          row.source_id = source;
          row.target_id = target;
          row.summary = std::string(type) + " " + method;
          append(workspace, row);
        }
      }
    }
  }
  InboxQuery everything = since(0);
  everything.limit = 500;
  std::vector<std::string> chat;
  for (const InboxRow& row : read(workspace, everything)) {
    if (is_chat(row)) chat.push_back(row.summary);
  }
  EXPECT_THAT(chat,
              ElementsAre("a2a_receive message/send", "a2a_receive notify", "a2a_receive chat_upload_receive",
                          "a2a_send message/send", "upload_receipt message/send", "upload_receipt notify",
                          "upload_receipt chat_upload_receive", "upload_receipt delegate_result", "upload_receipt "));
  everything.chat_only = true;
  EXPECT_EQ(summaries(workspace, everything), chat);
}

TEST_P(Inbox, APageIsCutByRowsAndByBytesButNeverBelowOneRow) {
  const auto workspace = make_workspace().id;
  for (const char* text : {"a", "b", "c"}) {
    NewInboxRow activity = message(text);
    activity.request_body = "\"" + std::string(98, 'x') + "\"";
    append(workspace, activity);
  }
  InboxQuery query = since(0);
  query.limit = 2;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("a", "b"));
  query.limit = 100;
  query.max_bytes = 200;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("a", "b"));
  query.max_bytes = 199;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("a"));
  query.max_bytes = 1;
  EXPECT_THAT(summaries(workspace, query), ElementsAre("a"));
  query.limit = 0;
  EXPECT_THAT(summaries(workspace, query), IsEmpty());
  query.limit = -1;
  EXPECT_THAT(summaries(workspace, query), IsEmpty()) << "a negative limit never means all";
}

TEST_P(Inbox, ARepeatedMessageIsTheSameRow) {
  const auto workspace = make_workspace().id;
  const auto first = append(workspace, message("hello", "m-1"), at(1));
  reopen();
  const auto again = append(workspace, message("hello", "m-1"), at(2));
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.seq, first.seq);
  EXPECT_FALSE(first.repeated);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(inbox_of(workspace).size(), 1u);
}

TEST_P(Inbox, AMessageIsIdentifiedByItsContentAndItsSender) {
  const auto workspace = make_workspace().id;
  NewInboxRow sent = message("hello", "m-1");
  sent.content = "the message";
  sent.sent_by = "one person";
  append(workspace, sent);
  sent.request_body = R"({"id":"another call"})";
  EXPECT_TRUE(append(workspace, sent).repeated) << "the rest of the body is not the message";
  sent.sent_by = "another person";
  EXPECT_EQ(append(workspace, sent).seq, 2);
  sent.content = "another message";
  EXPECT_EQ(append(workspace, sent).seq, 3);
}

TEST_P(Inbox, AMessageIsNewWithOtherContentAnotherSourceOrInAnotherInbox) {
  const auto workspace = make_workspace().id;
  append(workspace, message("hello", "m-1"));
  EXPECT_EQ(append(workspace, message("other", "m-1")).seq, 2);
  EXPECT_EQ(append(workspace, message("hello", "m-2")).seq, 3);
  NewInboxRow from_agent = message("hello", "m-1");
  from_agent.source_id = WorkspaceId::make(at(0));
  EXPECT_EQ(append(workspace, from_agent).seq, 4);
  EXPECT_EQ(append(workspace, from_agent).seq, 4);
  EXPECT_EQ(append(workspace, message("other", "m-1")).seq, 2) << "every content of the same id is recognised";
  EXPECT_EQ(append(make_workspace().id, message("hello", "m-1")).seq, 1);
}

TEST_P(Inbox, RowsWithoutAMessageIdAreNeverTheSame) {
  const auto workspace = make_workspace().id;
  append(workspace, message("hello"));
  EXPECT_EQ(append(workspace, message("hello")).seq, 2);
}

TEST_P(Inbox, OfManyRepeatsAtOnceOneIsAppended) {
  const auto workspace = make_workspace().id;
  std::vector<Commit<Result<Appended>>> commits;
  for (int i = 0; i < 50; ++i) commits.push_back(store->append_to_inbox(workspace, message("x", "m"), at(i)));
  for (auto& commit : commits) EXPECT_EQ(commit.take()->seq, 1);
  EXPECT_EQ(inbox_of(workspace).size(), 1u);
}

TEST_P(Inbox, ASearchLooksAtSoManyRowsAndReportsHowFarItGot) {
  const auto workspace = make_workspace().id;
  for (int i = 0; i < 10; ++i) append(workspace, message("m"));
  NewInboxRow log;
  log.activity_type = "agent_log";
  append(workspace, log);
  InboxQuery query;
  query.type = "agent_log";
  query.since_seq = 2;
  auto step = store->search_inbox(workspace, query, 4).value();
  EXPECT_THAT(step.rows, IsEmpty());
  EXPECT_EQ(step.from, 2);
  EXPECT_EQ(step.to, 6);
  EXPECT_TRUE(step.more);
  query.since_seq.reset();
  query.above_seq = 6;
  EXPECT_THAT(store->search_inbox(workspace, query, 4)->rows, IsEmpty());
  query.above_seq = 10;
  step = store->search_inbox(workspace, query, 4).value();
  ASSERT_EQ(step.rows.size(), 1u);
  EXPECT_EQ(step.rows[0].seq, 11);
  query.above_seq = 11;
  step = store->search_inbox(workspace, query, 4).value();
  EXPECT_FALSE(step.to || step.more) << "nothing is left to look at";
  append(workspace, message("m"));
  step = store->search_inbox(workspace, query, 4).value();
  EXPECT_EQ(step.to, 12);
  EXPECT_FALSE(step.more);
}

TEST_P(Inbox, ASearchFromTheNewestRowGoesDownwards) {
  const auto workspace = make_workspace().id;
  NewInboxRow log;
  log.activity_type = "agent_log";
  NewInboxRow first = message("first");
  first.target_id = workspace;
  append(workspace, first);
  for (int i = 0; i < 7; ++i) append(workspace, log);
  InboxQuery query;
  query.chat_only = true;
  auto step = store->search_inbox(workspace, query, 4).value();
  EXPECT_THAT(step.rows, IsEmpty());
  EXPECT_EQ(step.from, 9);
  EXPECT_EQ(step.to, 5);
  EXPECT_TRUE(step.more);
  query.below_seq = 5;
  step = store->search_inbox(workspace, query, 4).value();
  ASSERT_EQ(step.rows.size(), 1u);
  EXPECT_EQ(step.rows[0].seq, 1);
}

TEST_P(Inbox, ASearchRefusesACursorAsAReadDoes) {
  const auto workspace = make_workspace().id;
  const auto row = append(workspace, message("m"));
  InboxQuery query;
  query.type = "agent_log";
  query.since_seq = 2;
  EXPECT_ERROR(store->search_inbox(workspace, query, 4), errors::cursor_gone);
  query.since_seq.reset();
  query.since_id = InboxRowId::make(at(0));
  EXPECT_ERROR(store->search_inbox(workspace, query, 4), errors::cursor_gone);
  query.since_id = row.id;
  append(workspace, message("m"));
  const auto step = store->search_inbox(workspace, query, 4).value();
  EXPECT_EQ(step.from, row.seq);
  EXPECT_EQ(step.to, row.seq + 1);
}

TEST_P(Inbox, AStepOfPruningLooksAtSomeHundredInboxesAndTheNextContinues) {
  std::vector<WorkspaceId> workspaces;
  for (int i = 0; i < 510; ++i) workspaces.push_back(make_workspace().id);
  NewInboxRow log;
  log.activity_type = "agent_log";
  const auto last = *std::ranges::max_element(workspaces);
  append(last, log);
  auto step = store->prune(at(1'000), at(1'000), at(1'000), 100).take().value();
  EXPECT_EQ(step.rows, 0);
  EXPECT_TRUE(step.more);
  ASSERT_TRUE(step.after);
  EXPECT_LT(*step.after, last);
  step = store->prune(at(1'000), at(1'000), at(1'000), 100, step.after).take().value();
  EXPECT_EQ(step.rows, 1);
  EXPECT_FALSE(step.more);
  EXPECT_FALSE(step.after) << "the next pass begins with the first";
}

}  // namespace
}  // namespace restante::testing
