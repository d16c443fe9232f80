// A file on its way to an agent, or from one. Values only.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crypto.h"
#include "model/ids.h"
#include "model/place.h"

namespace restante {

constexpr std::int64_t kMaxFileBytes = 26'214'400;  // 25 MiB; the table's CHECK pins it
// What may be kept in the row itself instead of in Places; the table's CHECK pins it.
constexpr std::int64_t kMaxRowBytes = 16'384;
constexpr std::size_t kMaxReasonBytes = 500;
inline constexpr std::string_view kPendingScheme = "platform-pending:";

enum class UploadState { staged, fetched, acked, failed, expired, recalled };
// For the agent, with a row in its inbox; or from it, waiting until a message names it.
enum class UploadDirection { in, out };
// What the place of the bytes gives are other ones than were staged, or none at all.
enum class UploadDamage { changed, missing };

struct NewUpload {
  FileId id;
  std::string name;      // sanitised
  std::string mimetype;  // normalised; may be empty
  std::int64_t size = 0;
  Digest sha256{};
  std::string blob_key;                    // where Places keeps the bytes; empty when the row keeps them
  std::string content;                     // the bytes themselves, at most kMaxRowBytes; empty when Places keeps them
  std::optional<WorkspaceId> source_id{};  // the agent whose message brought it; none: people, or the agent's own
  std::string twin_key{};                  // the same bytes in a second place, while they move from one to the other

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
  std::optional<Time> failed_at;       // the agent said that it could not take it, or its bytes were found damaged,
  std::string reason;                  // and why
  std::optional<UploadDamage> damage;  // nobody is given the bytes any more

  bool in_row() const { return blob_key.empty(); }
  // An ack wins over everything; a failure stays one although the file is asked for again.
  UploadState state(Time now) const {
    if (acked_at) return UploadState::acked;
    if (now >= expires_at) return UploadState::expired;
    if (failed_at) return UploadState::failed;
    return fetched_at ? UploadState::fetched : UploadState::staged;
  }
};

// What may lie for one workspace and from it that was not acked yet; 0 is no limit.
struct UploadQuota {
  std::int64_t max_bytes = 0;
  std::int64_t max_files = 0;
};

// What all files of one staging have in common.
struct StagingTerms {
  Time expires_at;
  UploadQuota quota;
  UploadDirection direction = UploadDirection::in;
  std::optional<TokenId> staged_by;
};

// An outgoing file that a message names: whose it is, and under which new id it goes to the message's target.
struct OutgoingFile {
  WorkspaceId owner;
  FileId source;
  FileId id;
  // Set for one that is sent again: `owner` is who got it then, from this one.
  std::optional<WorkspaceId> sent_by{};

  WorkspaceId sender() const { return sent_by.value_or(owner); }
};

// Where a file is on its way, also after its bytes have left; `upload` then says nothing of where they were.
struct UploadStatus {
  Upload upload;
  UploadState state = UploadState::staged;
  std::optional<Time> ended_at;  // when its row left
};

std::string_view name_of(UploadState state);
std::optional<UploadState> parse_upload_state(std::string_view text);
std::string_view name_of(UploadDirection direction);
// "in" or "out"; nothing else.
std::optional<UploadDirection> parse_upload_direction(std::string_view text);
std::string_view name_of(UploadDamage damage);
std::optional<UploadDamage> parse_upload_damage(std::string_view text);
// What its sender and its reader are told.
std::string_view sentence_of(UploadDamage damage);
// platform-pending:<workspace>/<file>
std::string pending_uri(WorkspaceId workspace, FileId file);
// The file a platform-pending uri names, if it is one of this workspace.
std::optional<FileId> file_of(std::string_view uri, WorkspaceId workspace);

}  // namespace restante
