#include "lockstep.h"

namespace restante::testing {

void LockstepProgram::append() {
  const auto id = workspace();
  NewInboxRow given;
  given.activity_type = one_in(3) ? "agent_log" : "a2a_receive";
  given.method = "message/send";
  given.summary = word();
  given.source_id = perhaps_workspace();
  given.target_id = perhaps_workspace();
  given.request_body = one_in(4) ? "" : "\"" + word() + "\"";
  given.response_body = one_in(2) ? "" : "\"" + word() + word() + "\"";
  given.status = one_in(4) ? "error" : "ok";
  given.error_detail = one_in(4) ? word() : "";
  if (one_in(2)) given.duration_ms = pick(100);
  if (one_in(2)) {
    // Few ids, sources and contents, so that repeats happen.
    given.activity_type = "a2a_receive";
    given.message_id = word();
    if (one_in(2)) given.source_id.reset();
  }
  const auto result = store_->append_to_inbox(id, given, now_).take();
  const auto answered = result ? *result : Appended{};
  EXPECT_EQ(result ? answered.id.text() + " " + std::to_string(answered.seq) : std::string(result.error().code()),
            model_.append(id, given, now_, answered));
}

void LockstepProgram::read() {
  const auto id = workspace();
  const auto inbox = model_.inboxes.find(id);
  const int size = inbox == model_.inboxes.end() ? 0 : static_cast<int>(inbox->second.size());
  InboxQuery query;
  if (one_in(2)) {
    query.since_seq = pick(size + 2);
  } else if (size > 0 && one_in(2)) {
    const auto& row = inbox->second[static_cast<std::size_t>(pick(size))];
    if (!row.id.uuid().is_zero()) query.since_id = row.id;
  } else if (one_in(2)) {
    query.above_seq = pick(size + 2);
  }
  if (one_in(4)) query.below_seq = pick(size + 2);
  if (one_in(4)) query.chat_only = true;
  if (one_in(3)) query.not_before = now_ - std::chrono::seconds(pick(100));
  if (one_in(3)) query.before = now_ - std::chrono::seconds(pick(100));
  if (one_in(3)) query.type = one_in(2) ? "chat_upload_receive" : "a2a_receive";
  if (one_in(3)) query.source = one_in(2) ? InboxQuery::Source::canvas : InboxQuery::Source::agent;
  if (one_in(4)) query.peer = workspace();
  query.limit = pick(20);
  if (one_in(3)) query.max_bytes = static_cast<std::size_t>(pick(50));
  EXPECT_EQ(show(store_->read_inbox(id, query)), model_.read(id, query));
}

std::string LockstepProgram::show_sent(const SentMessage& sent) {
  return sent.row.id.text() + " " + std::to_string(sent.row.seq) + (sent.row.repeated ? " repeated\n" : " \n") +
         show_files(sent.files);
}

void LockstepProgram::send() {
  const auto id = workspace();
  std::vector<OutgoingFile> files;
  NewInboxRow given = message(word(), one_in(2) ? word() : "");
  given.request_body = "[";
  for (int i = pick(3); i > 0; --i) {
    const auto source = one_in(20) ? some_file() : some_outgoing_file();
    files.push_back({owner(source), source, FileId::make(now_)});
    given.request_body += "\"" + pending_uri(id, files.back().id) + "\",";
  }
  given.request_body += "null]";
  const auto conditions = terms();
  if (one_in(4)) return send_once(id, given, files, conditions);
  const auto result = store_->append_to_inbox_with_files(id, given, files, conditions, now_).take();
  EXPECT_EQ(result ? show_sent(*result) : std::string(result.error().code()),
            model_.send(id, given, files, conditions, now_, result ? *result : SentMessage()));
}

void LockstepProgram::send_once(WorkspaceId id, const NewInboxRow& given, const std::vector<OutgoingFile>& files,
                                const StagingTerms& conditions) {
  const auto under = claim();
  const ClaimedAnswer<SentMessage> once{under, show_sent};
  const auto result = store_->append_to_inbox_with_files(id, given, files, conditions, now_, once).take();
  if (const auto claimed = model_.claimed(under, now_)) {
    EXPECT_EQ(show_claimed(result), *claimed);
    return;
  }
  const auto expected = model_.send(id, given, files, conditions, now_, result ? *result : SentMessage());
  EXPECT_EQ(result ? show_sent(*result) : std::string(result.error().code()), expected);
  if (result) model_.claim(under, expected);
}

}  // namespace restante::testing
