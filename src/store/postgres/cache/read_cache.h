// ReadCache keeps answers of the database for reads that are repeated often: which token a hash belongs to, how a
// workspace is reached, and that no rows follow a cursor. A transaction's changes remove the answers that they concern:
// on this server before the caller gets the result of the COMMIT, on others when the notification arrives. The cache is
// used only while notifications are known to arrive; trust() extends that by a short time. Thread-safe.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "base/error.h"
#include "model/inbox_row.h"
#include "model/workspace.h"
#include "store/postgres/cache/change_set.h"
#include "store/postgres/cache/workspace_cache.h"
#include "store/token_cache.h"

namespace restante::postgres {

class ReadCache {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;
  using Page = std::vector<InboxRow>;

  // `read()` reads from the database.
  template <class Read>
  std::optional<Token> find_token(const Digest& hash, Read read) {
    return is_trusted() ? tokens_.find(hash, read) : read();
  }
  // Keeps only workspaces that exist.
  template <class Read>
  Result<DeliveryMode> find_delivery(WorkspaceId id, Read read) {
    if (!is_trusted()) return read();
    using Known = std::optional<DeliveryMode>;
    if (const auto known = deliveries_.look(id, Known(), [](DeliveryMode mode) { return Known(mode); })) return *known;
    const auto generation = deliveries_.generation_of(id);
    Result<DeliveryMode> read_now = read();
    if (read_now) deliveries_.keep(id, generation, [&](DeliveryMode& mode) { mode = *read_now; });
    return read_now;
  }
  // Keeps only that a page is empty, and only for queries whose result does not depend on the time.
  template <class Read>
  Result<Page> read_page(WorkspaceId id, const InboxQuery& query, Read read) {
    if (query.not_before || query.before || !is_trusted()) return read();
    if (empty_.look(id, false, [&](const Queries& known) { return contains(known, query); })) return Page();
    const auto generation = empty_.generation_of(id);
    Result<Page> page = read();
    if (page && page->empty()) empty_.keep(id, generation, [&](Queries& known) { add(known, query); });
    return page;
  }

  // Keeps only that a search has looked at everything and found nothing; the step from the cache knows nothing else.
  template <class Read>
  Result<InboxStep> search(WorkspaceId id, const InboxQuery& query, Read read) {
    if (query.not_before || query.before || !is_trusted()) return read();
    if (empty_.look(id, false, [&](const Queries& known) { return contains(known, query); })) return InboxStep();
    const auto generation = empty_.generation_of(id);
    Result<InboxStep> step = read();
    if (step && step->rows.empty() && !step->more) {
      empty_.keep(id, generation, [&](Queries& known) { add(known, query); });
    }
    return step;
  }

  // A transaction with these changes has been committed, or may have been.
  void forget(const ChangeSet& change_set);
  void forget_everything();

  // All notifications of commits so far have arrived and were applied; new ones arrive at once, at least until `until`.
  void trust(SteadyTime until) { trusted_until_ = until; }
  void distrust() { trusted_until_ = SteadyTime(); }
  // Whether the cache was used since the last call: only then is it worth a statement to confirm the session.
  bool was_used() { return used_.exchange(false); }

 private:
  using Queries = std::vector<InboxQuery>;  // the newest last

  bool is_trusted();
  static bool contains(const Queries& known, const InboxQuery& query);
  static void add(Queries& known, const InboxQuery& query);

  std::atomic<SteadyTime> trusted_until_{};
  std::atomic<bool> used_{false};
  TokenCache tokens_;
  WorkspaceCache<DeliveryMode> deliveries_;
  WorkspaceCache<Queries> empty_;
};

}  // namespace restante::postgres
