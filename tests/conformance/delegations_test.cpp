// Delegations: how one is opened, changes, ends and reaches the caller's inbox, on every backend.
#include <gmock/gmock.h>

#include "test_delegations.h"

namespace restante::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Delegations : public DelegationTest {
 protected:
  // The number of rows in all inboxes.
  std::size_t all_rows() { return inbox_of(caller).size() + inbox_of(callee).size(); }
};
RESTANTE_EVERY_BACKEND(Delegations);

TEST_P(Delegations, ATaskIsInBothInboxesAndInTheDelegationsTable) {
  const auto opened = open(task("d1", "count \"ten\""));
  EXPECT_FALSE(opened.hit);
  reopen();
  const auto inbox = inbox_of(callee);
  ASSERT_EQ(inbox.size(), 1u);
  EXPECT_EQ(inbox[0].activity_type, "a2a_receive");
  EXPECT_EQ(inbox[0].method, "message/send");
  EXPECT_EQ(inbox[0].source_id, caller);
  EXPECT_EQ(inbox[0].target_id, callee);
  EXPECT_THAT(inbox[0].request_body, HasSubstr(R"("parts":[{"kind":"text","text":"count \"ten\""}])"));
  EXPECT_THAT(inbox[0].request_body, HasSubstr(R"("metadata":{"delegation_id":"d1")"));
  const auto sent_row = inbox_of(caller);
  ASSERT_EQ(sent_row.size(), 1u);
  EXPECT_EQ(sent_row[0].activity_type, "delegation");
  EXPECT_EQ(sent_row[0].method, "delegate");
  const auto row = find("d1");
  EXPECT_EQ(row.status, Status::queued);
  EXPECT_EQ(row.caller_id, caller);
  EXPECT_EQ(row.callee_id, callee);
  EXPECT_EQ(row.inbox_seq, 1);
  EXPECT_EQ(row.last_heartbeat, std::nullopt);
  EXPECT_EQ(row.deadline, at(21'600));
  EXPECT_EQ(read_task("d1").task, "count \"ten\"");
}

TEST_P(Delegations, AFullMebibyteIsKeptWholeAndItsPreviewCutOnACharacter) {
  std::string text;
  while (text.size() < (1 << 20) - 10) text += "ä€";
  open(task("d1", text));
  report("d1", Status::completed, text);
  const auto record = read_task("d1");
  EXPECT_EQ(record.task, text);
  EXPECT_EQ(record.result, text);
  EXPECT_EQ(record.delegation.task_preview.size(), 4095u) << "five bytes a pair: 4096 would cut a character";
  EXPECT_EQ(record.delegation.result_preview, record.delegation.task_preview);
  EXPECT_THAT(results_of("d1").at(0).request_body, HasSubstr(text));
}

TEST_P(Delegations, AcksAndHeartbeatsPickATaskUpAndNothingElseDoes) {
  open(task("d1"));
  open(task("d2"));
  EXPECT_THAT(store->pick_up_delegations({callee}, at(2)).take().value(), IsEmpty());
  ASSERT_TRUE(store->ack_inbox(callee, 1).take());
  EXPECT_EQ(status_of("d1"), Status::queued) << "until pick_up_delegations()";
  const auto picked = store->pick_up_delegations({third, callee}, at(3)).take().value();
  ASSERT_EQ(picked.size(), 1u);
  EXPECT_EQ(picked[0].delegation.id, "d1");
  EXPECT_EQ(status_of("d1"), Status::dispatched);
  EXPECT_EQ(find("d1").last_heartbeat, std::nullopt) << "an ack is a sign of life of the agent, not of the task";
  EXPECT_EQ(status_of("d2"), Status::queued);
  EXPECT_THAT(store->pick_up_delegations({callee}, at(4)).take().value(), IsEmpty());
  EXPECT_EQ(beat("d2", at(5), "on it").outcome, DelegationOutcome::changed);
  EXPECT_EQ(status_of("d2"), Status::dispatched);
  EXPECT_EQ(find("d2").last_heartbeat, at(5));
  EXPECT_EQ(find("d2").progress, "on it");
  EXPECT_EQ(beat("d2", at(6)).outcome, DelegationOutcome::repeated);
  EXPECT_EQ(find("d2").last_heartbeat, at(6));
  EXPECT_EQ(find("d2").progress_at, at(5)) << "a heartbeat without text is no progress";
  EXPECT_EQ(inbox_of(callee).back().method, "delegation_status");
}

TEST_P(Delegations, TheCallerGetsOneInboxRowWithTheResult) {
  open(task("d1"));
  open(task("d2"));
  report("d1", Status::in_progress, "begun");
  EXPECT_THAT(results_of("d1"), IsEmpty());
  EXPECT_EQ(report("d1", Status::completed, "ten").rows.size(), 1u);
  report("d2", Status::failed, "could not");
  reopen();
  const auto good = results_of("d1");
  ASSERT_EQ(good.size(), 1u);
  EXPECT_EQ(good[0].activity_type, "a2a_receive");
  EXPECT_EQ(good[0].source_id, callee);
  EXPECT_EQ(good[0].target_id, caller);
  EXPECT_EQ(good[0].status, "ok");
  EXPECT_EQ(good[0].response_body, R"({"text":"ten","delegation_id":"d1"})");
  EXPECT_THAT(good[0].request_body, HasSubstr(R"({"kind":"text","text":"ten"})"));
  const auto bad = results_of("d2");
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].status, "error");
  EXPECT_EQ(bad[0].error_detail, "could not");
  EXPECT_EQ(find("d2").error_detail, "could not");
  EXPECT_EQ(find("d1").result_preview, "ten");
}

TEST_P(Delegations, TheSameStatusAgainChangesNothing) {
  for (const Status status : {Status::in_progress, Status::completed, Status::failed}) {
    const std::string id(name_of(status));
    bring_to(id, status);
    const auto before = all_rows();
    EXPECT_EQ(report(id, status, "again", at(2)).outcome, DelegationOutcome::repeated);
    EXPECT_EQ(status_of(id), status);
    EXPECT_EQ(all_rows(), before);
    EXPECT_THAT(read_task(id).result, Not(HasSubstr("again")));
  }
}

TEST_P(Delegations, ALateAnswerIsKeptAndReachesTheCallerOnceMarkedAsLate) {
  open(task("d1"));
  cancel("d1");
  const auto late = report("d1", Status::completed, "ten after all", at(20));
  EXPECT_EQ(late.outcome, DelegationOutcome::late);
  EXPECT_EQ(late.delegation.status, Status::failed) << "the first end remains";
  EXPECT_EQ(report("d1", Status::completed, "once more", at(21)).outcome, DelegationOutcome::refused);
  EXPECT_EQ(report("d1", Status::in_progress, "still at it", at(22)).outcome, DelegationOutcome::refused);
  reopen();
  const auto rows = results_of("d1");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].request_body, Not(HasSubstr("\"late\"")));
  EXPECT_THAT(rows[1].request_body, HasSubstr("\"late\":true"));
  EXPECT_THAT(rows[1].response_body, HasSubstr("ten after all"));
  const auto record = read_task("d1");
  EXPECT_EQ(record.late_answer, "ten after all");
  EXPECT_EQ(record.result, "cancelled by caller");
  EXPECT_EQ(record.delegation.late_at, at(20));
  ASSERT_EQ(record.history.size(), 3u);
  EXPECT_TRUE(record.history[2].late);
}

TEST_P(Delegations, OnlyTheReceivingAgentBeatsAndReportsAndOnlyTheCallerCancels) {
  open(task("d1"));
  const auto as = [&](WorkspaceId who, DelegationActor by) {
    return store->advance_delegation(who, "d1", make_report(Status::completed, "x", by), at(2)).take();
  };
  EXPECT_ERROR(as(third, DelegationActor::callee), errors::delegation_not_found);
  EXPECT_ERROR(as(caller, DelegationActor::callee), errors::delegation_not_found);
  EXPECT_ERROR(as(callee, DelegationActor::caller), errors::delegation_not_found);
  EXPECT_ERROR(store->beat_delegation(caller, "d1", {}, at(2)).take(), errors::delegation_not_found);
  EXPECT_ERROR(store->beat_delegation(callee, "d0", {}, at(2)).take(), errors::delegation_not_found);
  EXPECT_ERROR(store->advance_delegation(callee, "d0", make_report(Status::failed), at(2)).take(),
               errors::delegation_not_found);
  EXPECT_EQ(status_of("d1"), Status::queued);
  EXPECT_EQ(cancel("d1").delegation.status, Status::failed);
  EXPECT_EQ(beat("d1", at(3)).delegation.status, Status::failed);
  EXPECT_EQ(find("d1").last_heartbeat, std::nullopt) << "an ended task ignores it";
}

TEST_P(Delegations, TheSameCallersIdAndKeyAreHitsAndAnIdOfAnotherCallerIsTaken) {
  auto first = task("d1");
  first.idempotency_key = "k";
  open(first);
  EXPECT_TRUE(open(first).hit);
  auto same_key = task("d2", "something else");
  same_key.idempotency_key = "k";
  const auto hit = open(same_key);
  EXPECT_TRUE(hit.hit);
  EXPECT_EQ(hit.delegation.id, "d1");
  EXPECT_EQ(inbox_of(callee).size(), 1u);
  auto foreign = task("d1");
  foreign.caller_id = third;
  EXPECT_ERROR(try_open(foreign), errors::delegation_id_taken);
  auto foreign_key = task("d3");
  foreign_key.caller_id = third;
  foreign_key.idempotency_key = "k";
  EXPECT_FALSE(open(foreign_key).hit) << "keys belong to their callers";
}

TEST_P(Delegations, ADeadlineInThePastIsRefusedUnlessTheTaskExistsAlready) {
  auto wanted = task("d1");
  wanted.deadline = at(10);
  EXPECT_ERROR(try_open(wanted, at(11)), errors::bad_field);
  EXPECT_TRUE(inbox_of(callee).empty());
  EXPECT_FALSE(open(wanted, at(1)).hit);
  EXPECT_TRUE(open(wanted, at(11)).hit) << "the same request, repeated";
}

TEST_P(Delegations, AKeyIsHeldADayAfterCompletionAndFreedAtOnceByFailureOrSilence) {
  const auto keyed = [&](const std::string& id, Time now) {
    auto wanted = task(id);
    wanted.idempotency_key = "k";
    wanted.deadline = now + std::chrono::hours(6);
    return open(wanted, now);
  };
  keyed("d1", at(0));
  report("d1", Status::completed, "done", at(100));
  EXPECT_TRUE(keyed("d2", at(100 + 86'399)).hit);
  EXPECT_FALSE(keyed("d3", at(100 + 86'400)).hit);
  EXPECT_EQ(find("d1").idempotency_key, "");
  report("d3", Status::failed, "no", at(90'000));
  EXPECT_FALSE(keyed("d4", at(90'001)).hit);
  beat("d4", at(90'002));
  EXPECT_EQ(sweep(at(91'000)).changes.size(), 1u);
  EXPECT_EQ(status_of("d4"), Status::stuck);
  EXPECT_FALSE(keyed("d5", at(91'001)).hit);
}

TEST_P(Delegations, ARetryNamesTheOldOneAndCounts) {
  open(task("d1"));
  auto again = task("d2");
  again.retry_of = "d1";
  EXPECT_ERROR(try_open(again), errors::delegation_in_flight);
  cancel("d1");
  open(again);
  EXPECT_EQ(find("d2").retry_count, 1);
  EXPECT_EQ(find("d2").retry_of, "d1");
  cancel("d2");
  auto third_time = task("d3");
  third_time.retry_of = "d2";
  EXPECT_EQ(open(third_time).delegation.retry_count, 2);
  auto foreign = task("d4");
  foreign.caller_id = third;
  foreign.retry_of = "d1";
  EXPECT_ERROR(try_open(foreign), errors::delegation_not_found);
}

TEST_P(Delegations, FilesComeWithTheTaskAndGoBackWithTheResult) {
  const auto stage_out = [&](WorkspaceId owner, const NewUpload& item) {
    auto terms = until(at(500));
    terms.direction = UploadDirection::out;
    EXPECT_TRUE(store->stage_uploads(owner, {item}, terms, at(0)).take());
    return OutgoingFile{owner, item.id, FileId::make(at(0))};
  };
  auto wanted = task("d1");
  wanted.attachments = {stage_out(caller, file("in.txt"))};
  wanted.files = R"([{"uri":")" + pending_uri(callee, wanted.attachments[0].id) + R"(","name":"in.txt"}])";
  const auto opened = open(wanted);
  ASSERT_EQ(opened.files.size(), 1u);
  EXPECT_EQ(opened.files[0].upload.workspace_id, callee);
  EXPECT_EQ(opened.files[0].upload.expires_at, at(86'400));
  EXPECT_EQ(inbox_of(callee).at(0).method, "chat_upload_receive");
  EXPECT_THAT(inbox_of(callee).at(1).request_body, HasSubstr(pending_uri(callee, wanted.attachments[0].id)));
  const auto missing = [&] { return store->delegation_waits(std::vector{find("d1")}).at(0).missing_file; };
  EXPECT_EQ(missing(), "in.txt");
  ASSERT_TRUE(store->ack_upload(callee, wanted.attachments[0].id, at(5)).take());
  EXPECT_EQ(missing(), "");
  auto done = make_report(Status::completed, "see file");
  done.attachments = {stage_out(callee, small_file("out.txt", "bytes"))};
  done.files = R"([{"uri":")" + pending_uri(caller, done.attachments[0].id) + R"(","name":"out.txt"}])";
  ASSERT_TRUE(try_report("d1", done));
  EXPECT_EQ(store->read_upload(caller, done.attachments[0].id)->content, "bytes");
  const auto rows = inbox_of(caller);
  EXPECT_EQ(rows.at(rows.size() - 2).method, "chat_upload_receive") << "the file comes before the result";
  EXPECT_THAT(rows.back().request_body, HasSubstr(pending_uri(caller, done.attachments[0].id)));
  EXPECT_EQ(read_task("d1").result_files, done.files);
}

TEST_P(Delegations, ATaskShowsItsCallerNoFileThatDidNotComeWithIt) {
  const auto of_third = file("third.txt");
  const auto of_callee = file("callee.txt");
  ASSERT_TRUE(store->stage_uploads(third, {of_third}, until(at(500)), at(0)).take());
  ASSERT_TRUE(store->stage_uploads(callee, {of_callee}, until(at(500)), at(0)).take());
  const auto missing = [&](const std::string& id, FileId named) {
    auto wanted = task(id);
    wanted.files = R"([{"uri":")" + pending_uri(callee, named) + R"(","name":"mine"}])";
    open(wanted);
    return store->delegation_waits(std::vector{find(id)}).at(0).missing_file;
  };
  EXPECT_EQ(missing("d1", of_third.id), "") << "a file of another workspace";
  EXPECT_EQ(missing("d2", of_callee.id), "") << "a file of the receiving agent, from somebody else";
  auto terms = until(at(500));
  terms.direction = UploadDirection::out;
  const auto of_caller = file("sent.txt");
  ASSERT_TRUE(store->stage_uploads(caller, {of_caller}, terms, at(0)).take());
  const FileId sent = FileId::make(at(0));
  auto other = task("other");
  other.callee_id = third;
  other.attachments = {{caller, of_caller.id, sent}};
  open(other);
  EXPECT_EQ(missing("d3", sent), "") << "a file that the caller sent to another agent";
}

TEST_P(Delegations, AFileThatWasSentCanBeSentAgainWhileItsBlobExists) {
  auto terms = until(at(500));
  terms.direction = UploadDirection::out;
  for (const NewUpload& item : {file("big.txt"), small_file("small.txt", "bytes")}) {
    ASSERT_TRUE(store->stage_uploads(caller, {item}, terms, at(0)).take());
    auto first = task("first " + item.name);
    first.id = "first-" + item.name;
    first.attachments = {{caller, item.id, FileId::make(at(0))}};
    const FileId sent = open(first).files.at(0).upload.id;
    ASSERT_TRUE(store->ack_upload(callee, sent, at(5)).take());
    cancel(first.id);

    auto again = task("again-" + item.name);
    again.retry_of = first.id;
    again.callee_id = third;
    again.attachments = {{callee, sent, FileId::make(at(0)), callee}};
    EXPECT_ERROR(try_open(again), errors::attachment_gone);  // it came from the caller
    again.attachments[0].sent_by = caller;
    const auto opened = open(again, at(600));
    ASSERT_EQ(opened.files.size(), 1u);
    const Upload staged = store->read_upload(third, again.attachments[0].id).value();
    EXPECT_EQ(staged.source_id, caller);
    EXPECT_EQ(staged.sha256, item.sha256);
    EXPECT_EQ(staged.content, item.content);
    EXPECT_EQ(staged.blob_key, item.blob_key) << "the blob is shared";
    EXPECT_EQ(inbox_of(third).at(inbox_of(third).size() - 2).method, "chat_upload_receive");

    ASSERT_TRUE(store->sweep_uploads(std::chrono::seconds(0), 100, at(700)).take());
    auto late = task("late-" + item.name);
    late.attachments = {{callee, sent, FileId::make(at(0)), caller}};
    EXPECT_ERROR(try_open(late, at(701)),
                 errors::attachment_gone);  // the copy that the receiving agent had acked was deleted
    EXPECT_EQ(store->read_upload(third, staged.id)->content, item.content);
  }
}

TEST_P(Delegations, AFileThatWasSentAndWaitedTooLongIsNotSentAgain) {
  auto terms = until(at(500));
  terms.direction = UploadDirection::out;
  const NewUpload item = file("a.txt");
  ASSERT_TRUE(store->stage_uploads(caller, {item}, terms, at(0)).take());
  auto first = task("d1");
  first.terms = until(at(100));
  first.attachments = {{caller, item.id, FileId::make(at(0))}};
  const FileId sent = open(first).files.at(0).upload.id;
  auto again = task("d2");
  again.attachments = {{callee, sent, FileId::make(at(0)), caller}};
  EXPECT_ERROR(try_open(again, at(100)), errors::attachment_gone);
  EXPECT_TRUE(try_open(again, at(99)));
}

TEST_P(Delegations, AnOutgoingFileIsFoundByItsDigestUntilItExpiresOrIsDamaged) {
  const NewUpload soon = file("soon.txt");
  NewUpload later = soon;
  later.id = FileId::make(at(0));
  const auto stage = [&](const NewUpload& item, UploadDirection direction, Time expires) {
    auto terms = until(expires);
    terms.direction = direction;
    ASSERT_TRUE(store->stage_uploads(caller, {item}, terms, at(0)).take());
  };
  EXPECT_FALSE(store->find_outgoing(caller, soon.sha256, at(1)));
  stage(soon, UploadDirection::out, at(100));
  stage(later, UploadDirection::out, at(200));
  NewUpload for_it = soon;
  for_it.id = FileId::make(at(0));
  stage(for_it, UploadDirection::in, at(900));
  EXPECT_EQ(store->find_outgoing(caller, soon.sha256, at(1))->id, later.id);
  EXPECT_FALSE(store->find_outgoing(callee, soon.sha256, at(1)));
  EXPECT_FALSE(store->find_outgoing(caller, Digest{}, at(1)));
  EXPECT_FALSE(store->find_outgoing(caller, soon.sha256, at(200))) << "it has expired";
  ASSERT_TRUE(store->mark_damaged(caller, later.id, UploadDamage::changed, at(2)).take());
  EXPECT_FALSE(store->find_outgoing(caller, soon.sha256, at(3))) << "they share the damaged blob";
}

TEST_P(Delegations, AMissingFileRefusesTheWholeTaskAndTheWholeResult) {
  auto wanted = task("d1");
  wanted.attachments = {{caller, FileId::make(at(0)), FileId::make(at(0))}};
  EXPECT_ERROR(try_open(wanted), errors::attachment_gone);
  EXPECT_ERROR(store->find_delegation("d1"), errors::delegation_not_found);
  EXPECT_THAT(inbox_of(caller), IsEmpty());
  EXPECT_THAT(inbox_of(callee), IsEmpty());
  open(task("d2"));
  auto done = make_report(Status::completed);
  done.attachments = {{callee, FileId::make(at(0)), FileId::make(at(0))}};
  EXPECT_ERROR(try_report("d2", done), errors::attachment_gone);
  EXPECT_EQ(status_of("d2"), Status::queued);
  EXPECT_THAT(results_of("d2"), IsEmpty());
}

TEST_P(Delegations, ARecordedTaskIsNotDeliveredAndItsCallerReportsOnIt) {
  auto wanted = task("d1");
  wanted.recorded = true;
  open(wanted);
  EXPECT_THAT(inbox_of(callee), IsEmpty());
  EXPECT_EQ(try_report("d1", make_report(Status::completed, "done", DelegationActor::caller))->outcome,
            DelegationOutcome::changed);
  EXPECT_EQ(results_of("d1").size(), 1u);
}

TEST_P(Delegations, ATaskThatItsCallbackDidNotTakeGoesToTheInboxOnce) {
  auto wanted = task("d1");
  wanted.to_inbox = false;
  EXPECT_EQ(open(wanted).rows.size(), 1u);
  EXPECT_THAT(inbox_of(callee), IsEmpty());
  EXPECT_EQ(store->deliver_delegation("d1", at(2)).take()->rows.size(), 1u);
  EXPECT_EQ(store->deliver_delegation("d1", at(3)).take()->rows.size(), 0u);
  ASSERT_EQ(inbox_of(callee).size(), 1u);
  EXPECT_THAT(inbox_of(callee)[0].request_body, HasSubstr("do it"));
  EXPECT_EQ(find("d1").inbox_seq, 1);
  ASSERT_TRUE(store->ack_inbox(callee, 1).take());
  EXPECT_EQ(store->pick_up_delegations({callee}, at(4)).take()->size(), 1u);
  EXPECT_ERROR(store->deliver_delegation("d0", at(2)).take(), errors::delegation_not_found);
}

TEST_P(Delegations, NoTaskGoesToAnUnknownARemovedOrTheOwnWorkspace) {
  auto absent = task("d1");
  absent.callee_id = WorkspaceId::make(at(0));
  EXPECT_ERROR(try_open(absent), errors::workspace_not_found);
  auto oneself = task("d1");
  oneself.callee_id = caller;
  EXPECT_ERROR(try_open(oneself), errors::bad_field);
  remove(third);
  auto removed = task("d1");
  removed.callee_id = third;
  EXPECT_ERROR(try_open(removed), errors::workspace_removed);
  EXPECT_ERROR(store->find_delegation("d1"), errors::delegation_not_found);
}

TEST_P(Delegations, TheInboxOfARemovedCallerStillGetsTheResult) {
  open(task("d1"));
  remove(caller);
  EXPECT_EQ(report("d1", Status::completed, "done").outcome, DelegationOutcome::changed);
  EXPECT_EQ(results_of("d1").size(), 1u);
}

TEST_P(Delegations, UnderAClaimTheSameRequestIsOneTask) {
  const Claim claim{sha256("scope"), sha256("request"), at(100)};
  const ClaimedAnswer<OpenedDelegation> once{claim, [](const auto& opened) { return opened.delegation.id; }};
  ASSERT_TRUE(store->open_delegation(task("d1"), at(1), once).take());
  EXPECT_EQ(earlier_answer_of(store->open_delegation(task("d2"), at(2), once).take()), "d1");
  EXPECT_ERROR(store->find_delegation("d2"), errors::delegation_not_found);
}

TEST_P(Delegations, ListsAreNewestFirstByDirectionAndStatus) {
  for (int i = 1; i <= 4; ++i) {
    auto wanted = task("d" + std::to_string(i));
    if (i == 3) std::swap(wanted.caller_id, wanted.callee_id);
    wanted.deadline = at(1000 - i);
    open(wanted, at(i));
  }
  report("d1", Status::completed, "x", at(20));
  const auto ids = [&](DelegationFilter filter) {
    std::vector<std::string> found;
    for (const auto& one : store->list_delegations(filter)) found.push_back(one.id);
    return found;
  };
  DelegationFilter filter;
  filter.workspace = caller;
  EXPECT_THAT(ids(filter), ElementsAre("d4", "d3", "d2", "d1"));
  filter.limit = 2;
  EXPECT_THAT(ids(filter), ElementsAre("d4", "d3"));
  filter.limit = 100;
  filter.direction = DelegationFilter::Direction::received;
  EXPECT_THAT(ids(filter), ElementsAre("d3"));
  filter.direction = DelegationFilter::Direction::sent;
  filter.in_flight = true;
  EXPECT_THAT(ids(filter), ElementsAre("d4", "d2"));
  DelegationFilter all;
  all.in_flight = true;
  EXPECT_THAT(ids(all), ElementsAre("d4", "d3", "d2")) << "the least time left first";
  all.in_flight = false;
  all.status = Status::completed;
  EXPECT_THAT(ids(all), ElementsAre("d1"));
  const auto stats = store->delegation_stats();
  EXPECT_EQ(stats.of(Status::queued), 3);
  EXPECT_EQ(stats.of(Status::completed), 1);
  EXPECT_EQ(stats.of(Status::stuck), 0);
  const std::vector<Delegation> asked{find("d4"), find("d1"), find("d2")};
  const auto waits = store->delegation_waits(asked);
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0].ahead, 1);
  EXPECT_EQ(waits[1].ahead, 0) << "it has ended";
  EXPECT_EQ(waits[2].ahead, 0);
  filter.peer = callee;
  filter.in_flight = false;
  EXPECT_THAT(ids(filter), ElementsAre("d4", "d2", "d1"));
  filter.direction = DelegationFilter::Direction::received;
  EXPECT_THAT(ids(filter), ElementsAre("d3"));
  filter.peer = third;
  EXPECT_THAT(ids(filter), ElementsAre());
}

TEST_P(Delegations, EndedTasksAndTheirTextsArePrunedAndOthersStay) {
  open(task("d1"));
  open(task("d2"));
  open(task("d3"));
  report("d1", Status::completed, "x", at(100));
  report("d2", Status::failed, "x", at(200));
  EXPECT_GT(store->prune(at(150), at(0), at(10'000), 1000).take()->rows, 0);
  EXPECT_ERROR(store->find_delegation("d1"), errors::delegation_not_found);
  EXPECT_TRUE(store->find_delegation("d2"));
  EXPECT_TRUE(store->find_delegation("d3")) << "old, but not ended";
  EXPECT_FALSE(open(task("d1"), at(10'001)).hit);
  EXPECT_EQ(read_task("d1").history.size(), 1u);
  ASSERT_TRUE(store->prune(at(9'000'000), at(0), at(9'000'000), 1000).take());
  EXPECT_ERROR(store->find_delegation("d2"), errors::delegation_not_found);
  EXPECT_TRUE(store->find_delegation("d3"));
}

}  // namespace
}  // namespace restante::testing
