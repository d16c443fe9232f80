// SqlMigrations: migrates the schema up and down in numbered steps. Each step and its row in schema_migrations are one
// transaction, so an interrupted step is either done or not done. The SQL of the steps is in the binary. Belongs to the
// thread of its session. Throws OpenRefused for a database that is not Restante's or too new for this binary.
//
// A backend derives from it and adds what differs. `Session` is its connection: the answer of query() is a range of
// rows and has front().
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/crypto.h"
#include "store/migration.h"

namespace restante {

template <class Session>
class SqlMigrations {
 public:
  // Refuses a database of another program, and one whose schema this binary must not use. Changes nothing.
  void require_ours() {
    if (!require_our_tables()) return;
    const auto newest = std::ssize(known_);
    for (const auto& row :
         session_.query("SELECT version, name, oldest_binary, digest FROM schema_migrations ORDER BY version")) {
      const std::int64_t version = row.integer(0);
      if (version <= newest) {
        const Migration& ours = known(version);
        if (row.view(1) == ours.name && row.digest(3) == sha256(ours.up)) continue;
        refuse_unknown(fmt::format("migration {} ({})", version, ours.name));
      }
      if (row.integer(2) > newest) {
        throw OpenRefused(
            fmt::format("the database is too new for this binary: it is at migration {} and needs a binary that knows "
                        "migration {}, this one knows {}; use the newer binary, or let it migrate down",
                        version, row.integer(2), newest));
      }
    }
  }

  // Applied and missing migrations, ordered by number.
  std::vector<MigrationStatus> status() {
    std::vector<MigrationStatus> all;
    for (const auto& migration : known_) all.push_back({migration.version, std::string(migration.name), {}, true});
    if (!has_table()) return all;
    for (const auto& row : session_.query("SELECT version, name, applied_at FROM schema_migrations ORDER BY version")) {
      const auto version = static_cast<int>(row.integer(0));
      const auto found = std::ranges::find(all, version, &MigrationStatus::version);
      if (found != all.end()) {
        found->applied_at = row.time(2);
      } else {
        all.push_back({version, row.text(1), row.time(2), false});
      }
    }
    return all;
  }

  // The first migration that is not applied; none when the schema is complete.
  std::optional<MigrationStatus> missing() {
    for (auto& migration : status()) {
      if (!migration.applied_at) return std::move(migration);
    }
    return std::nullopt;
  }

 protected:
  SqlMigrations(Session& session, std::span<const Migration> known) : session_(session), known_(known) {}
  ~SqlMigrations() = default;

  // Applies the missing migrations, each by `apply(migration)`, and returns how many.
  template <class Apply>
  int apply_missing(Apply apply) {
    require_ours();
    if (!has_table()) create_table();
    int applied = 0;
    for (const auto& state : status()) {
      if (state.applied_at) continue;
      apply(known(state.version));
      ++applied;
    }
    return applied;
  }

  // Reverts the newest migration; false when there was none.
  bool revert_newest() {
    require_ours();
    if (!has_table()) return false;
    const auto newest = session_.query("SELECT coalesce(max(version), 0) FROM schema_migrations").front().integer(0);
    if (newest == 0) return false;
    if (newest > std::ssize(known_)) {
      throw OpenRefused(fmt::format("migration {} came from a newer binary; only that one can undo it", newest));
    }
    revert(known(newest));
    return true;
  }

  // Refuses a database of another program. False when it has no tables at all.
  virtual bool require_our_tables() = 0;
  // The table schema_migrations.
  virtual bool has_table() = 0;
  virtual void create_table() = 0;
  virtual void revert(const Migration& migration) = 0;

  Session& session_;

 private:
  const Migration& known(std::int64_t version) const { return known_[static_cast<std::size_t>(version - 1)]; }

  const std::span<const Migration> known_;
};

}  // namespace restante
