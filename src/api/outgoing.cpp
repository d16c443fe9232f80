#include "api/messages.h"

#include "api/answers.h"
#include "api/push.h"

namespace restante::api {
namespace {

// The inbox row of a push workspace about files for a message with which its callback is about to be called.
NewInboxRow files_row(const NewInboxRow& message, std::size_t files) {
  NewInboxRow row;
  row.activity_type = "a2a_send";
  row.method = "message/files";
  row.summary = message.summary;
  row.source_id = message.source_id;
  row.target_id = message.target_id;
  row.request_body = json_object([&](JsonWriter& body) {
    body.member("messageId", message.message_id);
    body.member("files", static_cast<std::int64_t>(files));
  });
  row.traceparent = message.traceparent;
  return row;
}

http::Response push_with_files(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                               NewInboxRow row, std::vector<OutgoingFile> files) {
  // Before the files are staged: a request that is answered with an error leaves nothing behind.
  if (const auto secret = context.push.secrets.ensure(target.id); !secret) return answer(secret.error());
  const NewInboxRow files_note = files_row(row, files.size());
  auto commit = context.outgoing.send(target.id, files_note, std::move(files));
  http::Response response = http::after(
      std::move(commit), [&context, idempotent, target, row = std::move(row)](const Result<SentMessage>& sent) mutable {
        return sent ? push_message(context, idempotent, target, std::move(row)) : answer(sent.error());
      });
  std::get<std::shared_ptr<http::Later>>(response.content)->may_block = http::MayBlock::on_rows;
  return response;
}

}  // namespace

http::Response send_with_files(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                               NewInboxRow row, std::vector<OutgoingFile> files) {
  if (target.delivery_mode == DeliveryMode::push) {
    return push_with_files(context, idempotent, target, std::move(row), std::move(files));
  }
  return idempotent.perform<SentMessage>(
      [&](OptionalClaim<SentMessage> claim) { return context.outgoing.send(target.id, row, files, std::move(claim)); },
      [ignored = row.ignored](const Result<SentMessage>& sent) {
        return sent ? queued_answer("poll", ignored, sent->row) : answer(sent.error());
      });
}

}  // namespace restante::api
