// Uploads are files on their way to an agent or from one. Staging receives them; this class does the rest: who may read
// a file and until when, ack, failure and recall. Thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/blob_checks/integrity.h"
#include "desk/events/event_bus.h"
#include "desk/uploads/staging.h"
#include "desk/uploads/upload_events.h"
#include "model/principal.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

// Who may still read a file that was acked, until it is swept.
enum class AckedContent { people, everyone };

// Whether this caller may know of the file: files from other agents are not part of the chat that a sender may see.
bool may_see(const Principal& caller, const Upload& upload);

struct UploadRules {
  std::uint64_t per_file_bytes = kMaxFileBytes;
  std::uint64_t per_request_bytes = 128ull << 20;
  unsigned max_files = 64;
  std::chrono::seconds ttl{86'400};
  UploadQuota quota{4ll << 30, 10'000};
  AckedContent acked_content = AckedContent::people;
  bool staging = true;        // false: as in versions before staging
  std::uint64_t reserve = 0;  // bytes that uploads leave free for acks and the inbox
  // Free bytes on the fullest disk we write to, after so many more are written. Unset: not checked.
  std::function<std::uint64_t(std::uint64_t)> free_after{};
  IntegrityRules integrity{};
};

// A file that can be read to its end, even if it is deleted meanwhile.
struct OpenUpload {
  Upload upload;
  std::string content;             // if it is stored in the row
  std::shared_ptr<OpenBlob> blob;  // else
};

class Uploads {
 public:
  Uploads(Store& store, Places& places, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics,
          UploadRules rules)
      : store_(store),
        places_(places),
        clock_(clock),
        log_(log),
        rules_(std::move(rules)),
        events_(event_bus, log, metrics),
        integrity_(store, places, events_, clock, log, metrics, rules_.integrity) {}

  const UploadRules& rules() const { return rules_; }
  UploadEvents& events() { return events_; }
  Integrity& integrity() { return integrity_; }
  // Whether files for this workspace are passed on to its callback (push) or staged here (poll). workspace_not_found,
  // workspace_removed.
  Result<DeliveryMode> delivery(WorkspaceId workspace);
  // Begins to stage files of this caller for that workspace, or from it. insufficient_storage; no_callback when staging
  // is not possible: it is switched off, or its tables do not exist.
  Result<std::unique_ptr<Staging>> stage(WorkspaceId workspace, UploadDirection direction, const Principal& caller);
  // The content, for the agent until acked or expired, for people until swept. upload_gone; integrity_error or
  // content_missing when it is known to be damaged, or is found damaged now.
  Result<OpenUpload> open(const Principal& caller, WorkspaceId workspace, FileId id);
  // The same in two steps: first whether the row allows this caller to read, then the content. The second step may wait
  // for another machine if is_far().
  Result<Upload> admit(const Principal& caller, WorkspaceId workspace, FileId id);
  Result<OpenUpload> open(Upload admitted);
  static bool is_far(const Upload& upload);
  // The agent has requested the content. This is recorded, but it is no delivery yet.
  void record_fetch(const Upload& upload);
  Commit<Result<UploadChange>> ack(WorkspaceId workspace, FileId id);
  // The agent could not take the file, with its reason. The content is checked soon.
  Commit<Result<UploadChange>> fail(WorkspaceId workspace, FileId id, std::string reason);
  // The operator may recall any file, other callers only files they have staged.
  Commit<Result<UploadChange>> recall(const Principal& caller, WorkspaceId workspace, FileId id);
  // The state of the file, also when its content cannot be reached. upload_gone when absent or not the caller's.
  Result<UploadStatus> find(const Principal& caller, WorkspaceId workspace, FileId id);
  std::vector<Upload> waiting(const Principal& caller, WorkspaceId workspace, std::optional<FileId> after, int limit);
  std::vector<Upload> list(const UploadFilter& filter) { return store_.list_uploads(filter, clock_.expiry_time()); }
  AllUploadStats stats(const UploadStatsPage& page = {}) { return store_.upload_stats(clock_.expiry_time(), page); }
  // Whether the reserve is still free after so many more bytes; without it uploads are refused.
  bool has_room(std::uint64_t bytes) const { return !rules_.free_after || rules_.free_after(bytes) >= rules_.reserve; }

 private:
  friend class Staging;
  Moment moment() const { return {clock_.now(), clock_.expiry_time()}; }
  // The token that owns a file this caller stages: only it may recall the file. None for the operator, who may recall
  // any file.
  static std::optional<TokenId> owner_of(const Principal& caller) {
    return caller.is_admin() ? std::nullopt : caller.own_token();
  }
  Result<OpenUpload> open_blob(Upload upload);
  Error report_damage(const Upload& upload, UploadDamage damage);
  Store& store_;
  Places& places_;
  const Clock& clock_;
  Log& log_;
  const UploadRules rules_;
  UploadEvents events_;
  Integrity integrity_;
};

}  // namespace restante::desk
