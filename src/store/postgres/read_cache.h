// Memory: what the database answered and would answer again, so that what is asked over and over is not asked of it:
// whose a token is, how a workspace is reached, and that there is nothing behind a cursor. Whatever a transaction
// changed is forgotten, on this server before its COMMIT is answered, on others when they hear of it. Nothing is
// remembered longer than hearing is certain: trust is lent for moments at a time. Thread-safe.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "base/error.h"
#include "model/inbox_row.h"
#include "model/workspace.h"
#include "store/postgres/change_set.h"
#include "store/postgres/workspace_cache.h"
#include "store/token_cache.h"

namespace restante::postgres {

class ReadCache {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;
  using Page = std::vector<InboxRow>;

  // `read()` asks the database.
  template <class Read>
  std::optional<Token> find_token(const Digest& hash, Read read) {
    return is_trusted() ? tokens_.find(hash, read) : read();
  }
  // Only of those that are there.
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
  // Only that a page is empty, and of questions that a later moment does not answer otherwise.
  template <class Read>
  Result<Page> read_page(WorkspaceId id, const InboxQuery& query, Read read) {
    if (query.not_before || query.before || !is_trusted()) return read();
    if (empty_.look(id, false, [&](const Questions& known) { return contains(known, query); })) return Page();
    const auto generation = empty_.generation_of(id);
    Result<Page> page = read();
    if (page && page->empty()) empty_.keep(id, generation, [&](Questions& known) { add(known, query); });
    return page;
  }

  // A transaction that had this to tell has ended, or may have.
  void forget(const ChangeSet& change_set);
  void forget_everything();

  // Everything that others had committed was heard, and forgotten where it had to be; what they commit is heard at
  // once, at least until then.
  void trust(SteadyTime until) { trusted_until_ = until; }
  void distrust() { trusted_until_ = SteadyTime(); }
  // Whether anything was asked since the last time: only then is it worth a question to be sure of hearing.
  bool was_asked() { return asked_.exchange(false); }

 private:
  using Questions = std::vector<InboxQuery>;  // the newest last

  bool is_trusted();
  static bool contains(const Questions& known, const InboxQuery& query);
  static void add(Questions& known, const InboxQuery& query);

  std::atomic<SteadyTime> trusted_until_{};
  std::atomic<bool> asked_{false};
  TokenCache tokens_;
  WorkspaceCache<DeliveryMode> deliveries_;
  WorkspaceCache<Questions> empty_;
};

}  // namespace restante::postgres
