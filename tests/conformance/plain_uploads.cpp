#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plain_model.h"

namespace restante::testing {
namespace {

std::string show(std::optional<Time> time) { return time ? format_time(*time) : "-"; }

std::string quoted(std::optional<Time> time) { return time ? "\"" + format_time(*time) + "\"" : "null"; }

bool in_group(const Upload& upload, UploadGroup group, Time now) {
  const bool incoming = upload.direction == UploadDirection::in;
  const auto state = upload.state(now);
  switch (group) {
    case UploadGroup::waiting:
      return incoming && state != UploadState::acked && state != UploadState::expired;
    case UploadGroup::never_fetched:
      return incoming && state == UploadState::staged;
    case UploadGroup::fetched:
      return incoming && state == UploadState::fetched;
    case UploadGroup::failed:
      return incoming && state == UploadState::failed;
    case UploadGroup::acked:
      return state == UploadState::acked;
    case UploadGroup::expired:
      return state == UploadState::expired;
    case UploadGroup::outgoing:
      return !incoming && state != UploadState::expired;
    case UploadGroup::damaged:
      return upload.damage.has_value();
  }
  return false;
}

// A stable sort.
template <class Key>
std::vector<Upload> sorted(const std::vector<Upload>& all, Key key) {
  std::multimap<std::decay_t<std::invoke_result_t<Key, const Upload&>>, Upload> by_key;
  for (const auto& upload : all) by_key.emplace(key(upload), upload);
  std::vector<Upload> out;
  for (const auto& [place, upload] : by_key) out.push_back(upload);
  return out;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::string show(const Upload& u) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", u.id.text(), u.name, u.mimetype, u.size,
                     to_hex(u.sha256), u.blob_key, u.workspace_id.text(), name_of(u.direction),
                     u.staged_by ? u.staged_by->text() : "-", format_time(u.created_at), format_time(u.expires_at),
                     show(u.fetched_at), show(u.acked_at), show(u.failed_at), u.reason,
                     u.source_id ? u.source_id->text() : "-", u.damage ? name_of(*u.damage) : "-", u.twin_key);
}

std::string show(const UploadStatus& upload_status) {
  Upload upload = upload_status.upload;
  upload.blob_key.clear();
  upload.twin_key.clear();
  return fmt::format("{} {} {}", show(upload), name_of(upload_status.state), show(upload_status.ended_at));
}

std::string show(const UploadChange& change) {
  return fmt::format("{} {}", show(change.upload), change.receipt ? change.receipt->seq : 0);
}

std::string show(const UploadStats& s) {
  std::string out;
  for (const auto& tally : {s.never_fetched, s.fetched, s.failed, s.acked, s.expired, s.outgoing, s.damaged}) {
    out += fmt::format("{}/{} ", tally.files, tally.bytes);
  }
  return out + show(s.oldest);
}

std::string show(const AllUploadStats& stats) {
  std::string out = show(stats.total) + "\n";
  for (const auto& [workspace, one] : stats.workspaces) out += workspace.text() + " " + show(one) + "\n";
  return out;
}

std::string show(const SweptUploads& swept) {
  std::string out = fmt::format("{} {}\n", swept.acked, swept.more);
  for (const auto& change : swept.expired) out += show(change) + "\n";
  return out;
}

Time PlainModel::tick(WorkspaceId workspace, Time now) {
  Time& clock = clocks_[workspace];
  return clock = std::max(clock, now);
}

std::optional<std::string> PlainModel::claimed(const Claim& claim, Time now) const {
  const auto found = claims.find(claim.scope);
  if (found == claims.end() || found->second.first.expires_at <= now) return std::nullopt;
  return found->second.first.request == claim.request ? "replay " + found->second.second : "idempotency_mismatch";
}

std::string PlainModel::over_quota(WorkspaceId workspace, const UploadQuota& quota, std::int64_t files,
                                   std::int64_t bytes) const {
  for (const auto& upload : uploads) {
    if (upload.workspace_id == workspace && !upload.acked_at) files += 1, bytes += upload.size;
  }
  const bool over =
      (quota.max_files != 0 && files > quota.max_files) || (quota.max_bytes != 0 && bytes > quota.max_bytes);
  return over ? "quota_exceeded" : "";
}

Upload& PlainModel::put(WorkspaceId workspace, const NewUpload& item, const StagingTerms& terms, Time now,
                        InboxRowId arrival_id) {
  Upload upload;
  static_cast<NewUpload&>(upload) = item;
  upload.workspace_id = workspace;
  upload.direction = terms.direction;
  upload.staged_by = terms.staged_by;
  upload.created_at = tick(workspace, now);
  upload.expires_at = terms.expires_at;
  if (terms.direction == UploadDirection::in) {
    NewInboxRow arrival;
    arrival.activity_type = "a2a_receive";
    arrival.method = "chat_upload_receive";
    arrival.summary = "chat_upload_receive: " + item.name;
    arrival.source_id = item.source_id;
    arrival.target_id = workspace;
    arrival.request_body = fmt::format(
        R"({{"file_id":"{0}","name":"{1}","filename":"{1}","mimeType":"{2}","size":{3},"uri":"platform-pending:{4}/{0}","sha256":"{5}"}})",
        item.id.text(), item.name, item.mimetype, item.size, workspace.text(), to_hex(item.sha256));
    push(workspace, arrival, arrival_id, now);
  }
  uploads.push_back(upload);
  return uploads.back();
}

std::string PlainModel::stage(WorkspaceId workspace, const std::vector<NewUpload>& items, const StagingTerms& terms,
                              Time now, const std::vector<StagedUpload>& answered) {
  if (items.empty()) return "";
  if (auto error = living(workspace); !error.empty()) return error;
  std::int64_t bytes = 0;
  for (const auto& item : items) bytes += item.size;
  if (auto error = over_quota(workspace, terms.quota, std::ssize(items), bytes); !error.empty()) return error;
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += show(put(workspace, items[i], terms, now, i < answered.size() ? answered[i].row.id : InboxRowId())) + "\n";
  }
  return out;
}

std::string PlainModel::send(WorkspaceId workspace, const NewInboxRow& activity, const std::vector<OutgoingFile>& files,
                             const StagingTerms& terms, Time now, const SentMessage& answered) {
  if (auto error = living(workspace); !error.empty()) return error;
  std::string body = activity.request_body;
  for (const auto& file : files) {
    body = replace_all(body, pending_uri(workspace, file.id), pending_uri(file.owner, file.source));
  }
  for (const auto& one : sent_) {
    if (one.workspace == workspace && !activity.message_id.empty() && one.activity.message_id == activity.message_id &&
        one.activity.source_id == activity.source_id && one.body == body) {
      return fmt::format("{} {} repeated\n", one.where.id.text(), one.where.seq);
    }
  }
  std::int64_t bytes = 0;
  std::vector<NewUpload> copies;
  for (const auto& file : files) {
    const auto* source = own(file.owner, file.source);
    if (!source || source->direction != UploadDirection::out || now >= source->expires_at || source->damage) {
      return "attachment_gone";
    }
    copies.push_back(*source);
    copies.back().id = file.id;
    copies.back().source_id = file.owner;
    bytes += source->size;
  }
  if (auto error = over_quota(workspace, terms.quota, std::ssize(files), bytes); !error.empty()) return error;
  std::string out;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto arrival = i < answered.files.size() ? answered.files[i].row.id : InboxRowId();
    out += show(put(workspace, copies[i], terms, now, arrival)) + "\n";
  }
  push(workspace, activity, answered.row.id, now);
  const auto& row = inboxes[workspace].back();
  sent_.push_back({workspace, activity, body, {row.id, row.seq, false}});
  return fmt::format("{} {} \n{}", row.id.text(), row.seq, out);
}

Upload* PlainModel::own(WorkspaceId workspace, FileId id) {
  const auto found = std::ranges::find(uploads, id, [](const Upload& upload) { return upload.id; });
  return found == uploads.end() || found->workspace_id != workspace ? nullptr : &*found;
}

std::string PlainModel::find(WorkspaceId workspace, FileId id) const {
  const auto* upload = const_cast<PlainModel*>(this)->own(workspace, id);
  return upload ? show(*upload) : "upload_gone";
}

std::string PlainModel::read(WorkspaceId workspace, FileId id) const {
  const auto* upload = const_cast<PlainModel*>(this)->own(workspace, id);
  return upload ? show(*upload) + " " + upload->content : "upload_gone";
}

std::string PlainModel::find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) const {
  const Upload* found = nullptr;
  for (const Upload& upload : uploads) {
    if (upload.workspace_id != workspace || upload.direction != UploadDirection::out || upload.sha256 != sha256 ||
        now >= upload.expires_at || upload.damage) {
      continue;
    }
    const auto stays_longer = [&] {
      return std::pair(found->expires_at, upload.id) < std::pair(upload.expires_at, found->id);
    };
    if (!found || stays_longer()) found = &upload;
  }
  return found ? show(*found) : "none";
}

std::string PlainModel::upload_status(WorkspaceId workspace, FileId id, Time now) const {
  if (const auto* upload = const_cast<PlainModel*>(this)->own(workspace, id)) {
    return show(UploadStatus{*upload, upload->state(now), {}});
  }
  for (const auto& upload_status : ended) {
    if (upload_status.upload.id == id && upload_status.upload.workspace_id == workspace) return show(upload_status);
  }
  return "upload_gone";
}

std::string PlainModel::list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) const {
  std::vector<Upload> all;
  for (const auto& upload : uploads) {
    if (upload.workspace_id != workspace) continue;
    if (in_group(upload, UploadGroup::waiting, now)) all.push_back(upload);
    if (after == upload.id) all.clear();
  }
  if (std::ssize(all) > limit) all.resize(static_cast<std::size_t>(limit));
  return show(all);
}

std::string PlainModel::list_uploads(const UploadFilter& filter, Time now) const {
  const auto place = [&](const Upload& upload) {
    return filter.group == UploadGroup::acked ? upload.acked_at : std::optional<Time>(upload.expires_at);
  };
  std::vector<Upload> page;
  for (const auto& upload : sorted(uploads, place)) {
    if (filter.workspace && upload.workspace_id != filter.workspace) continue;
    const bool wanted =
        in_group(upload, filter.group, now) && (!filter.expires_before || upload.expires_at < *filter.expires_before);
    if (wanted) page.push_back(upload);
    if (filter.after == upload.id && place(upload)) page.clear();
  }
  if (std::ssize(page) > filter.limit) page.resize(static_cast<std::size_t>(filter.limit));
  return show(page);
}

std::string PlainModel::stats(Time now) const {
  AllUploadStats stats;
  std::map<WorkspaceId, UploadStats> all;
  for (const auto& upload : uploads) {
    for (UploadStats* one : {&stats.total, &all[upload.workspace_id]}) {
      const std::pair<UploadGroup, UploadTally*> tallies[] = {{UploadGroup::never_fetched, &one->never_fetched},
                                                              {UploadGroup::fetched, &one->fetched},
                                                              {UploadGroup::failed, &one->failed},
                                                              {UploadGroup::acked, &one->acked},
                                                              {UploadGroup::expired, &one->expired},
                                                              {UploadGroup::outgoing, &one->outgoing},
                                                              {UploadGroup::damaged, &one->damaged}};
      for (const auto& [group, tally] : tallies) {
        if (in_group(upload, group, now)) tally->files += 1, tally->bytes += upload.size;
      }
      if (in_group(upload, UploadGroup::waiting, now)) {
        one->oldest = std::min(one->oldest.value_or(upload.created_at), upload.created_at);
      }
    }
  }
  stats.workspaces.assign(all.begin(), all.end());
  return show(stats);
}

std::string PlainModel::fetch(WorkspaceId workspace, FileId id, Time now) {
  auto* upload = own(workspace, id);
  if (!upload) return "upload_gone";
  if (!upload->acked_at && upload->direction == UploadDirection::in) upload->fetched_at = now;
  return "";
}

// Appends the receipt and returns its number, as show(UploadChange) does.
std::string PlainModel::receipt(const Upload& upload, UploadState outcome, Time now) {
  NewInboxRow row;
  row.activity_type = "upload_receipt";
  row.method = fmt::format("chat_upload_{}", name_of(outcome));
  row.summary = row.method + ": " + upload.name;
  row.source_id = upload.source_id;
  row.target_id = upload.workspace_id;
  row.request_body =
      fmt::format(R"({{"file_id":"{}","name":"{}","size":{},"fetched_at":{},"acked_at":{}{}}})", upload.id.text(),
                  upload.name, upload.size, quoted(upload.fetched_at), quoted(upload.acked_at),
                  outcome == UploadState::failed ? fmt::format(R"(,"reason":"{}")", upload.reason) : "");
  push(upload.workspace_id, row, InboxRowId(), now);
  return fmt::format("{} {}", show(upload), inboxes[upload.workspace_id].back().seq);
}

std::string PlainModel::ack(WorkspaceId workspace, FileId id, Time now) {
  auto* upload = own(workspace, id);
  if (!upload || upload->direction == UploadDirection::out) return "upload_gone";
  if (upload->acked_at) return show(*upload) + " 0";
  if (now >= upload->expires_at) return "upload_gone";
  upload->acked_at = now;
  return receipt(*upload, UploadState::acked, now);
}

std::string PlainModel::fail(WorkspaceId workspace, FileId id, const std::string& reason, Time now) {
  auto* upload = own(workspace, id);
  if (!upload || upload->direction == UploadDirection::out || upload->acked_at || now >= upload->expires_at) {
    return "upload_gone";
  }
  const bool known_already = upload->failed_at && (reason.empty() || upload->reason == reason);
  if (upload->damage || known_already) return show(*upload) + " 0";
  upload->reason = reason;
  if (upload->failed_at) {
    const auto since = now - *upload->failed_at;
    const auto age = *upload->failed_at - upload->created_at;
    if (since < std::chrono::seconds(1) || since < age / 3) return show(*upload) + " 0";
  }
  upload->failed_at = now;
  return receipt(*upload, UploadState::failed, now);
}

std::string PlainModel::damage(WorkspaceId workspace, FileId id, UploadDamage damage, Time now) {
  const auto* found = own(workspace, id);
  if (!found) return "upload_gone";
  const Upload known = *found;
  std::map<FileId, Upload*> same;
  for (auto& upload : uploads) {
    const bool shared = upload.id == id || (!known.blob_key.empty() && upload.blob_key == known.blob_key);
    if (shared && !known.damage && !upload.damage) same.emplace(upload.id, &upload);
  }
  std::string out;
  for (auto& [file, upload] : same) {
    upload->damage = damage;
    if (!in_group(*upload, UploadGroup::waiting, now)) {
      out += show(*upload) + " 0\n";
      continue;
    }
    upload->failed_at = now;
    upload->reason = sentence_of(damage);
    out += receipt(*upload, UploadState::failed, now) + "\n";
  }
  return out;
}

std::string PlainModel::walk(std::optional<FileId> after, int limit) const {
  std::map<FileId, Upload> all;
  for (const auto& upload : uploads) {
    if (!after || upload.id > *after) all.emplace(upload.id, upload);
  }
  std::vector<Upload> page;
  for (const auto& [id, upload] : all) {
    if (std::ssize(page) < limit) page.push_back(upload);
  }
  return show(page);
}

void PlainModel::remove(const Upload& upload, UploadState outcome, Time now) {
  ended.push_back({upload, outcome, now});
  const BlobKeys keys = upload.keys();
  std::erase_if(uploads, [id = upload.id](const Upload& one) { return one.id == id; });
  drop(keys.key, now);
  drop(keys.twin, now);
}

void PlainModel::drop(const std::string& key, Time now) {
  const bool shared =
      std::ranges::any_of(uploads, [&](const Upload& one) { return one.blob_key == key || one.twin_key == key; });
  if (!key.empty() && !shared) dropped.emplace(key, now);
}

std::vector<std::string> PlainModel::list_dropped(Time remote_before) const {
  std::vector<std::string> keys;
  for (const auto& [key, when] : dropped) {
    if (key.find(':') == std::string::npos || when < remote_before) keys.push_back(key);
  }
  return keys;
}

std::set<std::string> PlainModel::list_blobs(KeyRole role, Place place) const {
  std::set<std::string> all;
  for (const Upload& one : uploads) {
    const std::string& key = role == KeyRole::first ? one.blob_key : one.twin_key;
    const auto placed = parse_key(key);
    if (key.empty() || !placed || placed->place != place || (role == KeyRole::first && one.damage)) continue;
    all.insert(one.blob_key + " " + one.twin_key + " " + std::to_string(one.size) + to_hex(one.sha256));
  }
  return all;
}

std::vector<PlaceFigures> PlainModel::count_blobs() const {
  std::vector<PlaceFigures> all;
  for (const Place place : kPlaces) {
    PlaceFigures of;
    of.place = place;
    std::set<std::string> counted;
    for (const Upload& one : uploads) {
      const auto here = [&](const std::string& key) {
        return !key.empty() && parse_key(key)->place == place && counted.insert(key).second;
      };
      if (here(one.blob_key)) {
        of.files += 1, of.bytes += one.size;
        if (one.damage) of.damaged_files += 1, of.damaged_bytes += one.size;
      }
      if (here(one.twin_key)) of.twin_files += 1, of.twin_bytes += one.size;
    }
    all.push_back(of);
  }
  return all;
}

std::int64_t PlainModel::place(const BlobChange& change, Time now) {
  std::int64_t rows = 0;
  for (Upload& upload : uploads) {
    if (upload.keys() != change.was) continue;
    upload.blob_key = change.is.key;
    upload.twin_key = change.is.twin;
    ++rows;
  }
  if (rows > 0) drop(change.was.key, now), drop(change.was.twin, now);
  return rows;
}

std::string PlainModel::recall(WorkspaceId workspace, FileId id, std::optional<TokenId> recalled_by, Time now) {
  const auto* found = own(workspace, id);
  if (!found || (recalled_by && found->staged_by != recalled_by)) return "upload_gone";
  if (found->acked_at) return "upload_already_acked";
  if (now >= found->expires_at) return "upload_gone";
  const Upload upload = *found;
  remove(upload, UploadState::recalled, now);
  tick(workspace, now);
  return upload.direction == UploadDirection::in ? receipt(upload, UploadState::recalled, now) : show(upload) + " 0";
}

std::string PlainModel::sweep(std::chrono::seconds retention, int limit, Time now) {
  std::vector<Upload> acked;
  std::vector<Upload> expired;
  for (const auto& upload : uploads) {
    if (upload.acked_at && *upload.acked_at <= now - retention) acked.push_back(upload);
    if (!upload.acked_at && upload.expires_at <= now) expired.push_back(upload);
  }
  acked = sorted(acked, [](const Upload& upload) { return *upload.acked_at; });
  expired = sorted(expired, [](const Upload& upload) { return upload.expires_at; });
  const auto most = static_cast<std::size_t>(limit);
  if (acked.size() > most) acked.resize(most);
  if (expired.size() > most - acked.size()) expired.resize(most - acked.size());
  expired = sorted(expired, [](const Upload& upload) { return upload.workspace_id; });
  for (const auto& upload : acked) remove(upload, UploadState::acked, now);
  std::string out = fmt::format("{} {}\n", acked.size(), acked.size() + expired.size() >= most);
  for (const auto& upload : expired) {
    remove(upload, UploadState::expired, now);
    tick(upload.workspace_id, now);
    out += upload.direction == UploadDirection::in ? receipt(upload, UploadState::expired, now) : show(upload) + " 0";
    out += "\n";
  }
  return out;
}

}  // namespace restante::testing
