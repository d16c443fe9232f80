#include "desk/delegations/delegations.h"

#include "desk/inbox/outgoing.h"
#include "desk/workspaces/workspaces.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr std::size_t kMaxKey = 255;
constexpr std::size_t kMaxAttachments = 64;

// The files that go with a task or with its result, under the names that the other side will use. The store stages them
// in the same transaction as the task.
struct TaskFiles {
  std::string files;  // a JSON list, empty when there are none
  std::vector<OutgoingFile> outgoing;
};

Error bad_field(std::string_view field, std::string sentence) {
  return Error(errors::bad_field, {{"field", std::string(field)}}).with_sentence(std::move(sentence));
}

StagingTerms terms_of(const UploadRules& rules, Time deadline, const Clock& clock) {
  StagingTerms terms{
      std::max<Time>(clock.lifetime_start() + rules.ttl, deadline), rules.quota, UploadDirection::in, {}};
  terms.expiry = clock.expiry_time();
  return terms;
}

Result<void> check_request(const TaskRequest& request) {
  if (!request.target) return bad_field("target_id", "target_id must be a UUID");
  if (*request.target == request.caller) return bad_field("target_id", "an agent cannot delegate to itself");
  if (request.task.empty()) return bad_field("task", "task must be a text that is not empty");
  if (!request.delegation_id.empty() && !is_delegation_id(request.delegation_id)) {
    return bad_field("delegation_id", "delegation_id must be 1 to 128 characters of A-Z a-z 0-9 . _ : -");
  }
  if (request.idempotency_key.size() > kMaxKey) {
    return bad_field("idempotency_key", "idempotency_key must be at most 255 bytes long");
  }
  return {};
}

// From where a file of an old task can be sent again, with the new id `id`. None for a file that the receiving agent
// had before the task, which the task only mentions.
std::optional<OutgoingFile> source_of(UploadStore& store, const Delegation& old, FileId file, FileId id, WorkspaceId to,
                                      Time now) {
  const OutgoingFile from_callee{old.callee_id, file, id, old.caller_id};
  const auto upload_status = store.find_upload_status(old.callee_id, file, now);
  if (!upload_status) return from_callee;
  const Upload& upload = upload_status->upload;
  if (upload.source_id != old.caller_id) {
    return to == old.callee_id ? std::nullopt : std::optional<OutgoingFile>(from_callee);
  }
  if (!upload_status->ended_at && upload_status->state != UploadState::expired && !upload.damage) return from_callee;
  // The receiving agent has taken the file, and its row was deleted. The caller's original may still exist.
  const auto original = store.find_outgoing(old.caller_id, upload.sha256, now);
  return original ? OutgoingFile{old.caller_id, original->id, id, {}} : from_callee;
}

// `parts` are A2A file parts. too_many_files; attachment_gone for a file of another workspace.
Result<TaskFiles> name_task_files(WorkspaceId from, WorkspaceId to, Json::Array parts, Time now) {
  TaskFiles task_files;
  if (parts.empty()) return task_files;
  if (parts.size() > kMaxAttachments) return errors::too_many_files;
  Json message = Json::object({{"parts", Json::array(std::move(parts))}});
  Envelope envelope{Json::object({{"params", Json::object({{"message", std::move(message)}})}}), {}};
  const Principal sender{Principal::Role::workspace, from, {}, false};
  auto outgoing = address_files(sender, to, envelope, now);
  if (!outgoing) return outgoing.error();
  task_files.outgoing = std::move(*outgoing);
  Json::Array files;
  for (Json& part : *envelope.json.find("params")->find("message")->find("parts")->if_array()) {
    files.push_back(*part.find("file"));
  }
  task_files.files = Json::array(std::move(files)).dump();
  return task_files;
}

// The files of a task that was given before, wherever their blobs still are. A file whose blob was deleted is still in
// the list: the store refuses it, after it has checked whether the request is a repeated one.
TaskFiles reuse_task_files(UploadStore& store, const DelegationRecord& old, WorkspaceId to, Time now) {
  TaskFiles task_files;
  auto files = parse_json(old.task_files);
  if (files.has_error() || !files->if_array()) return task_files;
  std::map<FileId, FileId> names;
  for (Json& one : *files->if_array()) {
    Json* uri = one.find("uri");
    const auto file = uri && uri->if_string() ? file_of(*uri->if_string(), old.delegation.callee_id) : std::nullopt;
    if (!file) continue;  // it is not stored on this server
    const auto [name, first] = names.try_emplace(*file, FileId::make(now));
    const auto source = source_of(store, old.delegation, *file, name->second, to, now);
    if (!source) continue;
    if (first) task_files.outgoing.push_back(*source);
    *uri = Json::string(pending_uri(to, name->second));
  }
  task_files.files = files->dump();
  return task_files;
}

Result<TaskFiles> task_files_of(UploadStore& store, TaskRequest& request, Time now) {
  if (request.sent_before) return reuse_task_files(store, *request.sent_before, *request.target, now);
  return name_task_files(request.caller, *request.target, std::move(request.attachments).value_or(Json::Array()), now);
}

}  // namespace

Result<void> Delegations::complete_retry(TaskRequest& request) {
  if (request.retry_of.empty()) return {};
  auto old = store_.read_delegation(request.retry_of);
  if (!old || old->delegation.caller_id != request.caller) {
    // A request that is complete without the old task may still repeat an earlier one: the store decides that.
    if (request.target && !request.task.empty()) return {};
    return Error(errors::delegation_not_found, {{"field", std::string("retry_of")}});
  }
  if (!request.target) request.target = old->delegation.callee_id;
  if (request.task.empty()) request.task = std::move(old->task);
  if (!request.deadline) request.time = old->delegation.deadline - old->delegation.created_at;
  if (!request.attachments && !old->task_files.empty()) request.sent_before = std::move(*old);
  return {};
}

Result<NewDelegation> Delegations::prepare(TaskRequest request) const {
  if (const auto fine = check_request(request); !fine) return fine.error();
  const Time now = clock_.now();
  const Time start = clock_.lifetime_start();
  NewDelegation wanted;
  const auto time = request.time ? std::min<Time::duration>(*request.time, rules_.longest_deadline) : rules_.deadline;
  wanted.deadline = request.deadline.value_or(start + time);
  if (request.deadline && wanted.deadline > start + rules_.longest_deadline) {
    const std::int64_t longest = rules_.longest_deadline.count();
    return Error(errors::bad_field, {{"field", std::string("deadline")}, {"max_seconds", longest}})
        .with_sentence("deadline is later than this server allows");
  }
  auto task_files = task_files_of(store_, request, now);
  if (!task_files) return task_files.error();
  wanted.id = request.delegation_id.empty() ? Uuid::make(now).text() : std::move(request.delegation_id);
  wanted.caller_id = request.caller;
  wanted.callee_id = *request.target;
  wanted.task = std::move(request.task);
  wanted.files = std::move(task_files->files);
  wanted.idempotency_key = std::move(request.idempotency_key);
  wanted.retry_of = std::move(request.retry_of);
  wanted.parent_id = std::move(request.parent_id);
  wanted.recorded = request.recorded;
  wanted.traceparent = std::move(request.traceparent);
  wanted.attachments = std::move(task_files->outgoing);
  wanted.terms = terms_of(uploads_.rules(), wanted.deadline, clock_);
  wanted.limits = rules_.limits;
  return wanted;
}

Commit<Result<OpenedDelegation>> Delegations::open(const NewDelegation& wanted, OptionalClaim<OpenedDelegation> claim) {
  auto commit = store_.open_delegation(wanted, clock_.now(), std::move(claim));
  commit.then([this](const Result<OpenedDelegation>& opened) {
    if (opened) events_.opened(*opened);
  });
  return commit;
}

Commit<Result<DelegationChange>> Delegations::reported(Commit<Result<DelegationChange>> commit) {
  commit.then([this](const Result<DelegationChange>& change) {
    if (change) events_.changed(*change);
  });
  return commit;
}

Commit<Result<DelegationChange>> Delegations::deliver(const std::string& id) {
  return reported(store_.deliver_delegation(id, clock_.now()));
}

Commit<Result<DelegationChange>> Delegations::report(WorkspaceId who, const std::string& id, DelegationReport report,
                                                     Json::Array attachments) {
  using Answer = Commit<Result<DelegationChange>>;
  const auto task = store_.find_delegation(id);
  const bool by_callee = task && task->callee_id == who;
  const bool by_caller = task && task->caller_id == who && task->recorded;
  if (!by_callee && !by_caller) return Answer::ready(errors::delegation_not_found);
  report.by = by_callee ? DelegationActor::callee : DelegationActor::caller;
  const Time now = clock_.now();
  // The caller of a recorded task reports to itself: its files are in its workspace already.
  auto task_files = name_task_files(who, task->caller_id, std::move(attachments), now);
  if (!task_files) return Answer::ready(task_files.error());
  report.files = std::move(task_files->files);
  report.attachments = std::move(task_files->outgoing);
  report.terms = terms_of(uploads_.rules(), task->deadline, clock_);
  return reported(store_.advance_delegation(who, id, std::move(report), now));
}

Commit<Result<DelegationChange>> Delegations::beat(WorkspaceId callee, const std::string& id,
                                                   std::optional<std::string> progress) {
  const bool has_progress = progress && !progress->empty();
  auto commit = store_.beat_delegation(callee, id, std::move(progress), clock_.now());
  commit.then([this, has_progress](const Result<DelegationChange>& change) {
    if (!change) return;
    has_progress && change->delegation.in_flight() ? events_.progressed(*change) : events_.changed(*change);
  });
  return commit;
}

Commit<Result<DelegationChange>> Delegations::cancel(WorkspaceId caller, const std::string& id) {
  DelegationReport report;
  report.status = DelegationStatus::failed;
  report.by = DelegationActor::caller;
  report.text = "cancelled by caller";
  return reported(store_.advance_delegation(caller, id, std::move(report), clock_.now()));
}

Result<DelegationRecord> Delegations::read(WorkspaceId who, const std::string& id) {
  auto record = store_.read_delegation(id);
  if (!record) return record;
  const Delegation& task = record->delegation;
  if (task.caller_id != who && task.callee_id != who) return errors::delegation_not_found;
  return record;
}

std::vector<DelegationView> Delegations::look(std::span<const Delegation> delegations) {
  std::vector<DelegationWait> waits = store_.delegation_waits(delegations);
  std::map<WorkspaceId, std::optional<Workspace>> callees;
  std::vector<DelegationView> views;
  for (const Delegation& one : delegations) {
    DelegationView& view = views.emplace_back();
    const auto [callee, fresh] = callees.try_emplace(one.callee_id);
    if (fresh) {
      if (auto found = store_.find_workspace(one.callee_id)) callee->second = std::move(*found);
    }
    if (callee->second) view = look(one, *callee->second, std::move(waits[views.size() - 1]));
  }
  return views;
}

DelegationView Delegations::look(const Delegation& delegation, const Workspace& callee, DelegationWait wait) {
  DelegationView view;
  const PollStatus poll_status = presence_.poll_status(callee);
  view.agent_seen_at = std::max(callee.last_heartbeat_at, poll_status.last_poll_at);
  WaitFacts waiting{delegation};
  waiting.callee_removed = callee.status == WorkspaceStatus::removed;
  // A sign of life may be known before it has changed the workspace's status.
  const bool just_seen = view.agent_seen_at && clock_.now() - *view.agent_seen_at <= kOfflineAfter;
  waiting.callee_online =
      just_seen || callee.status == WorkspaceStatus::online || callee.status == WorkspaceStatus::degraded;
  waiting.callee_polls = callee.delivery_mode == DeliveryMode::poll;
  waiting.seen_at = view.agent_seen_at;
  waiting.polled_at = poll_status.last_poll_at;
  waiting.listening = poll_status.listening;
  waiting.silent_for = poll_status.silent_for;
  waiting.ahead = wait.ahead;
  waiting.missing_file = std::move(wait.missing_file);
  view.why = why_waiting(waiting, clock_.now());
  return view;
}

void Delegations::mark_acked(WorkspaceId workspace) {
  const MutexLock lock(mutex_);
  acked_.insert(workspace);
}

void Delegations::mark_all_acked() {
  const auto callees = store_.callees_with_acked_tasks();
  const MutexLock lock(mutex_);
  acked_.insert(callees.begin(), callees.end());
}

void Delegations::pick_up() {
  std::vector<WorkspaceId> acked;
  {
    const MutexLock lock(mutex_);
    acked.assign(acked_.begin(), acked_.end());
    acked_.clear();
  }
  if (acked.empty()) return;
  try {
    for (const DelegationChange& change : store_.pick_up_delegations(acked, clock_.now()).take().value()) {
      events_.changed(change);
    }
  } catch (...) {
    const MutexLock lock(mutex_);
    acked_.insert(acked.begin(), acked.end());
    throw;
  }
}

}  // namespace restante::desk
