#include "desk/delegations/task_files.h"

#include <map>

#include "desk/inbox/outgoing.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr std::size_t kMaxAttachments = 64;

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

}  // namespace

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

}  // namespace restante::desk
