// SqlStore: the verbs that SQLite and PostgreSQL share, each in the file of its noun beside this header. A verb
// computes what it can on the caller's thread and submits the rest to the backend's writer. Plain classes and not
// templates: a verb is compiled once, and a statement takes far longer than the virtual call that runs it. A verb that
// would need another text in each database, or more round trips in PostgreSQL, stays in the backend. Thread-safe, as
// Store promises.
#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "store/commit_queue.h"
#include "store/sql/transaction.h"
#include "store/store.h"

namespace restante {

class SqlStore : public Store {
 public:
  Result<std::optional<std::string>> find_answer(const Claim& claim, Time now) override;

  // workspaces

  // tokens

  // inbox
  Commit<Result<Appended>> append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now,
                                           OptionalClaim<Appended> claim) override;
  Commit<Result<std::int64_t>> ack_inbox(WorkspaceId workspace, std::int64_t seq) override;
  Result<InboxHead> find_head(WorkspaceId workspace) override;
  Commit<Result<std::int64_t>> prune(Time before, Time ceiling, Time now, int limit) override;
  Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) override;

  // uploads

  // blob moves

  // owners
  std::optional<Installation> find_installation() override;
  Commit<Result<Installation>> ensure_installation(InstallationId fresh, Place setting) override;
  Commit<Result<bool>> record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) override;
  Commit<Result<void>> reset_installation() override;

  // blob checks
  std::optional<BlobCheckRow> find_blob_check() override;
  Commit<Result<BlobCheckRow>> begin_blob_check(const NewBlobCheck& wanted, Time now) override;
  Commit<Result<bool>> update_blob_check(BlobCheckUpdate update) override;

  // delegations
  Commit<Result<OpenedDelegation>> open_delegation(const NewDelegation& wanted, Time now,
                                                   OptionalClaim<OpenedDelegation> claim) override;
  Commit<Result<DelegationChange>> advance_delegation(WorkspaceId who, const std::string& id, DelegationReport report,
                                                      Time now) override;
  Commit<Result<DelegationChange>> beat_delegation(WorkspaceId callee, const std::string& id,
                                                   std::optional<std::string> progress, Time now) override;
  Commit<Result<DelegationChange>> deliver_delegation(const std::string& id, Time now) override;
  Commit<Result<std::vector<DelegationChange>>> pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                    Time now) override;
  Commit<Result<SweptDelegations>> sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                     Time now) override;
  Result<Delegation> find_delegation(const std::string& id) override;
  Result<DelegationRecord> read_delegation(const std::string& id) override;
  std::vector<Delegation> list_delegations(const DelegationFilter& filter) override;
  DelegationStats delegation_stats() override;
  std::vector<DelegationWait> delegation_waits(std::span<const Delegation> of) override;

 protected:
  using WriteQueue = CommitQueue<SqlTransaction, WriteHints>;

  // Returns what `body(SqlReader&)` returns. PostgreSQL may run it twice.
  template <class Body>
  auto read(Body body) {
    std::optional<std::invoke_result_t<Body&, SqlReader&>> found;
    read_with([&](SqlReader& reader) { found.emplace(body(reader)); });
    return std::move(*found);
  }
  // `verb(SqlTransaction&)` runs inside a transaction on the writer's thread, perhaps several times, and returns a
  // Result. `bytes` is roughly the memory that it holds.
  template <class Verb>
  auto write(WriteHints hints, std::size_t bytes, Verb verb) {
    WriteQueue& queue = queue_for(hints);
    return queue.submit(std::move(hints), bytes, std::move(verb));
  }

 private:
  virtual void read_with(const std::function<void(SqlReader&)>& body) = 0;
  // May change the hints.
  virtual WriteQueue& queue_for(WriteHints& hints) = 0;
};

}  // namespace restante
