// A file on its way to an agent, or from one. Values only.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/names.h"
#include "model/ids.h"
#include "model/place.h"

namespace restante {

constexpr std::int64_t kMaxFileBytes = 26'214'400;  // 25 MiB; the same limit as in the table's CHECK
// Content up to this size may be stored in the row itself instead of in Places; the same limit as in the table's CHECK.
constexpr std::int64_t kMaxRowBytes = 16'384;
constexpr std::size_t kMaxReasonBytes = 500;
inline constexpr std::string_view kPendingScheme = "platform-pending:";

enum class UploadState { staged, fetched, acked, failed, expired, recalled };
inline constexpr Names<UploadState, UploadState::recalled> kUploadStates{"staged", "fetched", "acked",
                                                                         "failed", "expired", "recalled"};
constexpr std::string_view name_of(UploadState state) { return kUploadStates.of(state); }
constexpr std::optional<UploadState> parse_upload_state(std::string_view text) { return kUploadStates.parse(text); }

// `in`: for the agent, with a row in its inbox. `out`: from the agent, until a message names it.
enum class UploadDirection { in, out };
inline constexpr Names<UploadDirection, UploadDirection::out> kUploadDirections{"in", "out"};
constexpr std::string_view name_of(UploadDirection direction) { return kUploadDirections.of(direction); }
constexpr std::optional<UploadDirection> parse_upload_direction(std::string_view text) {
  return kUploadDirections.parse(text);
}

// The stored content is not what was staged, or there is none.
enum class UploadDamage { changed, missing };
inline constexpr Names<UploadDamage, UploadDamage::missing> kUploadDamages{"changed", "missing"};
constexpr std::string_view name_of(UploadDamage damage) { return kUploadDamages.of(damage); }
constexpr std::optional<UploadDamage> parse_upload_damage(std::string_view text) { return kUploadDamages.parse(text); }

struct NewUpload {
  FileId id;
  std::string name;      // sanitised
  std::string mimetype;  // normalised; may be empty
  std::int64_t size = 0;
  Digest sha256{};
  std::string blob_key;                    // the blob in Places; empty when the row has the content
  std::string content;                     // the content itself, at most kMaxRowBytes; empty when it is in Places
  std::optional<WorkspaceId> source_id{};  // the agent whose message brought it; none: a person, or the agent itself
  std::string twin_key{};                  // the second copy during a blob move

  BlobKeys keys() const { return {blob_key, twin_key}; }
};

struct Upload : NewUpload {
  WorkspaceId workspace_id;
  UploadDirection direction = UploadDirection::in;
  std::optional<TokenId> staged_by;  // the sender's token, or the agent's; none: the operator
  Time created_at;
  Time expires_at;
  std::optional<Time> fetched_at;
  std::optional<Time> acked_at;
  std::optional<Time> failed_at;       // the agent reported that it could not take it, or its content was found damaged
  std::string reason;                  // of the failure
  std::optional<UploadDamage> damage;  // the content is no longer handed out

  bool in_row() const { return blob_key.empty(); }
  // An ack wins over everything; a failure remains although the agent asks for the file again.
  UploadState state(Time now) const {
    if (acked_at) return UploadState::acked;
    if (now >= expires_at) return UploadState::expired;
    if (failed_at) return UploadState::failed;
    return fetched_at ? UploadState::fetched : UploadState::staged;
  }
};

// Limits for the files to and from one workspace that are not acked yet; 0 is no limit.
struct UploadQuota {
  std::int64_t max_bytes = 0;
  std::int64_t max_files = 0;
};

// What all files of one staging have in common.
// When something happens to a file, and the time by which files have expired: an earlier one while the clock is in
// doubt.
struct Moment {
  Moment(Time at) : now(at), expiry(at) {}  // NOLINT(google-explicit-constructor): usually they are the same
  Moment(Time at, Time expired_by) : now(at), expiry(expired_by) {}
  Time now;
  Time expiry;
};

struct StagingTerms {
  Time expires_at;
  UploadQuota quota;
  UploadDirection direction = UploadDirection::in;
  std::optional<TokenId> staged_by;
  bool by_agent = false;         // staged with the workspace's own token
  std::optional<Time> expiry{};  // of files that are copied, as in Moment; absent = now
};

// An outgoing file that a message names: its owner, and the new id under which the message's target gets it.
struct OutgoingFile {
  WorkspaceId owner;
  FileId source;
  FileId id;
  // Set for a file that is sent again: then `owner` received it from this workspace.
  std::optional<WorkspaceId> sent_by{};

  WorkspaceId sender() const { return sent_by.value_or(owner); }
};

// The state of a file, also after its content was deleted; `upload` then does not contain where the content was.
struct UploadStatus {
  Upload upload;
  UploadState state = UploadState::staged;
  std::optional<Time> ended_at;  // when its row was deleted
};

// For the file's sender and reader.
std::string_view sentence_of(UploadDamage damage);
// platform-pending:<workspace>/<file>
std::string pending_uri(WorkspaceId workspace, FileId file);
// The file that a platform-pending uri names, if it is a file of this workspace.
std::optional<FileId> file_of(std::string_view uri, WorkspaceId workspace);

}  // namespace restante
