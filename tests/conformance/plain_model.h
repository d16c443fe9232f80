// PlainModel computes what a Store should answer, on maps and vectors, written only to be clear. Ids that a store makes
// itself are taken from its answers. show() makes values comparable, and a difference readable.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"

namespace restante::testing {

std::string show(const Workspace& workspace);
std::string show(const Token& token);
std::string show(const InboxRow& activity);
std::string show(const Upload& upload);
std::string show(const UploadStatus& upload_status);
std::string show(const UploadChange& change);
std::string show(const UploadStats& stats);
std::string show(const AllUploadStats& stats);
std::string show(const SweptUploads& swept);
std::string show(const Delegation& delegation);
std::string show(const DelegationRecord& record);
std::string show(const OpenedDelegation& opened);
std::string show(const DelegationChange& change);
std::string show(const SweptDelegations& swept);
template <class T>
std::string show(const std::vector<T>& all) {
  std::string out;
  for (const auto& one : all) out += show(one) + "\n";
  return out;
}
template <class T>
std::string show(const Result<T>& result) {
  return result ? show(*result) : std::string(result.error().code());
}

class PlainModel {
 public:
  // Empty on success, else the error's code.
  std::string create(const Workspace& workspace);
  // The error, or nothing and whether a token is added.
  std::pair<std::string, bool> register_agent(const CheckedRegistration& entry, Time now);
  std::string beat(WorkspaceId id, const Heartbeat& heartbeat, Time now);
  void poll(WorkspaceId id, Time now);
  std::string find(WorkspaceId id) const;
  std::string list() const;

  void add(const Token& token, const Digest& hash) { tokens.push_back({token, hash}); }
  bool revoke(TokenId id, Time now);
  bool redeem(TokenId enrolment, WorkspaceId workspace, Time now);
  std::string find(const Digest& hash) const;
  std::string list(std::optional<WorkspaceId> workspace) const;
  bool has_live_token(WorkspaceId workspace, Time now) const;

  // The existing row, or the seq that the next one must get.
  std::string append(WorkspaceId workspace, const NewInboxRow& activity, Time now, const Appended& answered);
  std::string read(WorkspaceId workspace, const InboxQuery& query) const;

  // Uploads, in plain_uploads.cpp.
  std::string stage(WorkspaceId workspace, const std::vector<NewUpload>& items, const StagingTerms& terms, Time now,
                    const std::vector<StagedUpload>& answered);
  std::string send(WorkspaceId workspace, const NewInboxRow& activity, const std::vector<OutgoingFile>& files,
                   const StagingTerms& terms, Time now, const SentMessage& answered);
  std::string find(WorkspaceId workspace, FileId id) const;
  std::string read(WorkspaceId workspace, FileId id) const;
  std::string upload_status(WorkspaceId workspace, FileId id, Time now) const;
  std::string find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) const;
  std::string list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) const;
  std::string list_uploads(const UploadFilter& filter, Time now) const;
  std::string stats(Time now) const;
  std::string fetch(WorkspaceId workspace, FileId id, Time now);
  std::string ack(WorkspaceId workspace, FileId id, Time now);
  std::string fail(WorkspaceId workspace, FileId id, const std::string& reason, Time now);
  std::string damage(WorkspaceId workspace, FileId id, UploadDamage damage, Time now);
  std::string walk(std::optional<FileId> after, int limit) const;
  std::string recall(WorkspaceId workspace, FileId id, std::optional<TokenId> recalled_by, Time now);
  std::string sweep(std::chrono::seconds retention, int limit, Time now);
  std::int64_t place(const BlobChange& change, Time now);
  std::vector<std::string> list_dropped(Time remote_before) const;
  std::set<std::string> list_blobs(KeyRole role, Place place) const;
  std::vector<PlaceFigures> count_blobs() const;

  // Delegations, in plain_delegations.cpp.
  void ack_inbox(WorkspaceId workspace, std::int64_t seq);
  std::string open(const NewDelegation& wanted, Time now);
  std::string advance(WorkspaceId who, const std::string& id, const DelegationReport& report, Time now);
  std::string beat(WorkspaceId callee, const std::string& id, const std::optional<std::string>& progress, Time now);
  std::string deliver(const std::string& id, Time now);
  std::string pick_up(const std::vector<WorkspaceId>& callees, Time now);
  // Which ones are due is decided here; their order is the store's.
  std::string sweep_delegations(Time silent_since, Time undelivered_since, Time now, const SweptDelegations& answered);
  std::string find_delegation(const std::string& id) const;
  std::string list_delegations(const DelegationFilter& filter) const;
  std::string delegation_figures() const;
  DelegationWait wait_of(const Delegation& of) const;

  // The answer of a verb under this claim that does nothing; none when the claim is free.
  std::optional<std::string> claimed(const Claim& claim, Time now) const;
  void claim(const Claim& taken, const std::string& answer) { claims[taken.scope] = {taken, answer}; }

  std::map<WorkspaceId, Workspace> workspaces;
  std::vector<std::pair<Token, Digest>> tokens;
  std::map<WorkspaceId, std::vector<InboxRow>> inboxes;
  std::vector<Upload> uploads;          // in the order of arrival
  std::vector<UploadStatus> ended;      // deleted uploads and their outcome
  std::map<std::string, Time> dropped;  // keys of blobs that no upload names any more, and since when
  std::optional<BlobCheckRow> blob_check;
  std::map<Digest, std::pair<Claim, std::string>> claims;
  std::map<std::string, DelegationRecord> delegations;
  std::map<WorkspaceId, std::int64_t> acked_seqs;

 private:
  // A message with files, and its body before the files got new ids.
  struct Sent {
    WorkspaceId workspace;
    NewInboxRow activity;
    std::string body;
    Appended where;
  };
  std::vector<Sent> sent_;
  // For every inbox the time of the last change, which never goes back.
  std::map<WorkspaceId, Time> clocks_;

  Time tick(WorkspaceId workspace, Time now);
  std::string over_quota(WorkspaceId workspace, const UploadQuota& quota, std::int64_t files, std::int64_t bytes) const;
  Upload& put(WorkspaceId workspace, const NewUpload& item, const StagingTerms& terms, Time now, InboxRowId arrival);
  std::string receipt(const Upload& upload, UploadState outcome, Time now);
  void remove(const Upload& upload, UploadState outcome, Time now);
  void drop(const std::string& key, Time now);
  std::string living(WorkspaceId id) const;
  void push(WorkspaceId workspace, const NewInboxRow& activity, InboxRowId id, Time now);
  Upload* own(WorkspaceId workspace, FileId id);
  // Stages the files of a message: their error, or what was staged.
  std::pair<std::string, std::int64_t> bring(WorkspaceId to, const std::vector<OutgoingFile>& files, StagingTerms terms,
                                             Time now);
  std::string end(DelegationRecord& record, const DelegationReport& report, Time now);
  std::string put_into_inbox(DelegationRecord& record, Time now);
  std::string dispatch(DelegationRecord& record, Time now);
};

}  // namespace restante::testing
