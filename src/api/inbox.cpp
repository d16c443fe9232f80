#include "api/handlers.h"

#include <algorithm>

#include "api/answers.h"
#include "api/idempotency.h"
#include "api/messages.h"
#include "base/text.h"
#include "model/errors.h"
#include "model/reserved_members.h"

namespace restante::api {
namespace {

constexpr std::chrono::seconds kMaxWait{50};
constexpr std::int64_t kMaxSeconds = 2'592'000;  // 30 days

// Whether the rows contain their sender and the state of their files.
enum class PeerDetails { omitted, included };

Result<void> parse_cursor(const http::Request& request, InboxQuery& query) {
  const auto since_id = request.query_param("since_id");
  const auto since_seq = request.query_param("since_seq");
  if (since_id && since_seq) return bad_parameter("since_id", "since_id must be given without since_seq");
  if (since_id) {
    query.since_id = InboxRowId::parse(*since_id);
    if (!query.since_id) return bad_parameter("since_id", "since_id must be a UUID");
  }
  if (since_seq) {
    query.since_seq = parse_clamped(*since_seq);
    if (!query.since_seq || *query.since_seq < 0)
      return bad_parameter("since_seq", "since_seq must be a number, 0 or above");
  }
  return {};
}

Result<void> parse_times(const http::Request& request, InboxQuery& query, Time now) {
  if (const auto text = request.query_param("since_secs")) {
    const auto seconds = parse_clamped(*text);
    if (!seconds || *seconds <= 0) return bad_parameter("since_secs", "since_secs must be a number of seconds above 0");
    query.not_before = now - std::chrono::seconds(std::min(*seconds, kMaxSeconds));
  }
  if (const auto text = request.query_param("before_ts")) {
    query.before = parse_time(*text);
    if (!query.before) return bad_parameter("before_ts", "before_ts must be an RFC3339 time");
  }
  return {};
}

Result<void> parse_filters(const http::Request& request, InboxQuery& query) {
  query.type = request.query_param("type").value_or("");
  const std::string source = request.query_param("source").value_or("");
  if (source == "canvas") {
    query.source = InboxQuery::Source::canvas;
  } else if (source == "agent") {
    query.source = InboxQuery::Source::agent;
  } else if (!source.empty()) {
    return bad_parameter("source", "source must be canvas or agent");
  }
  if (const auto peer = request.query_param("peer_id")) {
    query.peer = WorkspaceId::parse(*peer);
    if (!query.peer) return bad_parameter("peer_id", "peer_id must be a UUID");
  }
  // An invalid limit means the default; a number beyond any page is cut before it becomes an int.
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(0);
  query.limit = static_cast<int>(std::clamp<std::int64_t>(limit, 0, 1'000'000));
  return {};
}

// Junk must not mean 0: a client that expects to be held would ask again and again.
Result<std::chrono::milliseconds> parse_wait(const http::Request& request) {
  const auto text = request.query_param("wait");
  const auto wait = parse_seconds(text.value_or("0"));
  if (wait) return *wait;
  return bad_parameter("wait", "wait must be a number of seconds from 0 to 50; it may have a fraction");
}

PeerDetails parse_include(const http::Request& request) {
  const std::string include = request.query_param("include").value_or("");
  const auto named = split(include, ',');
  return std::ranges::find(named, "peer_info") != named.end() ? PeerDetails::included : PeerDetails::omitted;
}

Result<InboxQuery> parse_query(const http::Request& request, Time now) {
  InboxQuery query;
  if (const auto ok = parse_cursor(request, query); !ok) return ok.error();
  if (const auto ok = parse_times(request, query, now); !ok) return ok.error();
  if (const auto ok = parse_filters(request, query); !ok) return ok.error();
  return query;
}

void write_row(JsonWriter& out, const InboxRow& row) {
  out.member("activity_type", row.activity_type);
  out.member("created_at", row.created_at);
  out.member_or_null("duration_ms", row.duration_ms);
  out.member_or_null("error_detail", row.error_detail);
  out.member("id", row.id.text());
  out.member_or_null("method", row.method);
  if (!row.request_body.empty()) out.raw_member("request_body", row.request_body);
  if (!row.response_body.empty()) out.raw_member("response_body", row.response_body);
  out.member("seq", row.seq);
  out.member_or_null("source_id", row.source_id ? row.source_id->text() : std::string());
  out.member_or_null("status", row.status);
  out.member_or_null("summary", row.summary);
  out.member_or_null("target_id", row.target_id ? row.target_id->text() : std::string());
  out.member("workspace_id", row.workspace_id.text());
}

void write_peer(JsonWriter& out, const InboxRow& row, desk::PeerInfo& info) {
  const auto peer = info.peer_of(row);
  out.member_or_null("peer_name", peer ? peer->name : std::string());
  out.member_or_null("peer_role", peer ? peer->role : std::string());
  out.objects("attachments", info.attachments_of(row), [&](const desk::Attachment& attachment) {
    out.member("kind", kind_of(attachment.file));
    out.member("uri", attachment.file.uri);
    out.member_or_null("mime_type", attachment.file.mime_type);
    out.member_or_null("name", attachment.file.name);
    out.member_or_null("size", attachment.file.size);
    out.member("state", attachment.state);
  });
}

http::Response rows_answer(const Context& context, const Principal& who, const std::vector<InboxRow>& rows,
                           PeerDetails peers) {
  desk::PeerInfo info = context.inbox.peer_info(who);
  return list_answer(rows, [&](JsonWriter& out, const InboxRow& row) {
    write_row(out, row);
    if (peers == PeerDetails::included) write_peer(out, row, info);
  });
}

struct PollRequest {
  std::shared_ptr<desk::InboxReading> reading;
  PeerDetails peers = PeerDetails::omitted;
  std::optional<std::string> clamped;  // the wait, when it differs from the request
};

// Runs each time the bell rings for a held poll.
std::optional<http::Response> read_rows(const Context& context, const Principal& who, const PollRequest& poll_request) {
  const auto rows = poll_request.reading->next();
  if (rows && rows->empty()) return std::nullopt;
  http::Response response = rows ? rows_answer(context, who, *rows, poll_request.peers) : answer(rows.error());
  if (poll_request.clamped) response.headers.emplace_back("Restante-Wait", *poll_request.clamped);
  return response;
}

// A member as JSON text, of any type; empty when absent.
std::string json_text(const Json& body, std::string_view name) {
  const Json* member = body.find(name);
  return member && !member->is_null() ? member->dump() : std::string();
}

void remove_reserved(const Json& body, NewInboxRow& row) {
  const Json* call = body.find("request_body");
  if (!call) return;
  Json message = *call;
  row.ignored = remove_reserved_members(message);
  if (!row.ignored.empty()) row.request_body = message.dump();
}

Result<NewInboxRow> parse_inbox_row(const Json& body) {
  const std::string type = body.text("activity_type");
  if (!desk::may_be_appended(type)) {
    return bad_field(
        "activity_type",
        "invalid activity_type: it must be a2a_send, a2a_receive, task_update, agent_log, skill_promotion, "
        "memory_write or error");
  }
  Fields fields(body);
  NewInboxRow row;
  row.activity_type = type;
  row.method = fields.text("method").value_or("");
  if (is_reserved_method(row.method)) {
    fields.fail(bad_field("method", "rows about files and about the results of tasks are written by the server only"));
  }
  row.summary = fields.text("summary").value_or("");
  row.status = fields.text("status").value_or(row.status);
  row.error_detail = fields.text("error_detail").value_or("");
  row.message_id = fields.text("message_id").value_or("");
  row.source_id = fields.workspace("source_id");
  row.target_id = fields.workspace("target_id");
  row.duration_ms = fields.whole("duration_ms");
  row.request_body = json_text(body, "request_body");
  row.response_body = json_text(body, "response_body");
  // Agents are handed rows of this type. In the others a delegation_id is only what the agent logs.
  if (type == "a2a_receive") remove_reserved(body, row);
  return fields.result(std::move(row));
}

// Of a POST; a GET only reads, and 0 changes nothing.
Result<std::int64_t> acked_seq_of(const http::Request& request) {
  if (request.method == http::Method::get) return 0;
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return body.error();
  Fields fields(*body);
  const std::int64_t seq = fields.whole("acked_seq").value_or(-1);
  if (seq < 0) fields.fail(bad_field("acked_seq", "acked_seq must be a number, 0 or above"));
  return fields.result(seq);
}

}  // namespace

http::Response append_own_row(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/activity");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  auto row = parse_inbox_row(*body);
  if (!row) return answer(row.error());
  row->traceparent = request.traceparent();
  return idempotent.perform<Appended>(
      [&](OptionalClaim<Appended> claim) { return context.inbox.append_own_row(id, *row, std::move(claim)); },
      [ignored = row->ignored](const Result<Appended>& at) {
        if (!at) return answer(at.error());
        return object_answer(200, [&](JsonWriter& out) {
          out.member("status", "logged");
          write_ignored(out, ignored);
        });
      });
}

http::Response ack_inbox(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto seq = acked_seq_of(request);
  if (!seq) return answer(seq.error());
  if (const auto known = context.inbox.check(id); !known) return answer(known.error());
  auto commit = context.inbox.ack(id, *seq);
  commit.then([&context, id](const Result<std::int64_t>& stands) {
    if (stands) context.delegations.mark_acked(id);
  });
  return http::after(std::move(commit), [](const Result<std::int64_t>& stands) {
    if (!stands) return answer(stands.error());
    return object_answer(200, [&](JsonWriter& out) { out.member("last_acked_seq", *stands); });
  });
}

http::Response read_inbox(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto query = parse_query(request, context.clock.now());
  if (!query) return answer(query.error());
  const auto wanted = parse_wait(request);
  if (!wanted) return answer(wanted.error());
  const Principal& who = caller(request);
  const auto entered = context.inbox.begin_read(who, id);
  if (!entered) return answer(entered.error());

  const bool cursor = query->since_id || query->since_seq;
  const auto patience = std::clamp<std::chrono::milliseconds>(*wanted, std::chrono::milliseconds(0), kMaxWait);
  PollRequest poll_request{context.inbox.reading(who, id, *query), parse_include(request), {}};
  if (*wanted != patience) poll_request.clamped = std::to_string(patience / std::chrono::seconds(1));
  const auto nothing = [clamped = poll_request.clamped] {
    http::Response empty = http::json(200, "[]");
    if (clamped) empty.headers.emplace_back("Restante-Wait", *clamped);
    return empty;
  };
  const bool held = cursor && patience.count() > 0;
  if (!held) {
    auto found = read_rows(context, who, poll_request);
    if (found) return std::move(*found);
    if (!poll_request.reading->unfinished()) return nothing();
  }
  http::HeldPoll wait;
  wait.topics = desk::revocation_topics(who);
  wait.tenant = id.text();
  wait.unfinished = [reading = poll_request.reading] { return reading->unfinished(); };
  // A read that does not wait goes through a long inbox in the same way, but counts against no limit.
  if (held) {
    wait.topics.push_back(desk::topic_of(id));
    wait.owner = who.limit_owner();
    wait.patience = patience;
  }
  wait.attempt = [&context, who, id, poll_request = std::move(poll_request),
                  poll = *entered]() -> std::optional<http::Response> {
    if (!context.principals.still_live(who)) return answer(errors::invalid_token);
    if (auto found = read_rows(context, who, poll_request)) return found;
    const auto there = context.inbox.check(id);
    return there ? std::nullopt : std::optional(answer(there.error()));
  };
  wait.give_up = nothing;
  return http::held_poll(std::move(wait));
}

}  // namespace restante::api
