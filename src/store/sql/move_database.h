// SqlMoveDatabase: what a MoveDatabase does in the same way in every backend. `Session` is the backend's connection: it
// has run() and query(), whose answer has front(); beside it are has_marker(session), which looks for the table of the
// marker, and in_transaction(session, body). `Layout` is how the backend reads and writes a table, with a member
// `table`.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "store/move_database.h"

namespace restante {

template <class Session, class Layout>
class SqlMoveDatabase : public MoveDatabase {
 public:
  std::vector<MoveTable> tables() override {
    std::vector<MoveTable> all;
    for (const auto& [name, layout] : layouts()) all.push_back(layout.table);
    return all;
  }
  std::int64_t count(const MoveTable& table) override {
    return session_->query(fmt::format("SELECT count(*) FROM {}", table.name)).front().integer(0);
  }
  std::optional<std::string> marker() override {
    if (!session_ || !has_marker(*session_)) return {};
    return session_->query(fmt::format("SELECT max(move) FROM {}", kMoveMarker)).front().text(0);
  }
  void prepare() override {
    migrate();
    layouts_.clear();
  }
  void begin(const std::string& move) override {
    in_transaction(*session_, [&] {
      create_marker();
      session_->run(fmt::format("INSERT INTO {} VALUES ($1)", kMoveMarker), move);
      for (const auto table : kTablesFilledAtStart) session_->run(fmt::format("DELETE FROM {}", table));
    });
  }

 protected:
  using Layouts = std::map<std::string, Layout>;  // by the table's name

  // Reads them from the database when the schema is there; until then there are none.
  const Layouts& layouts() {
    if (layouts_.empty() && session_) layouts_ = read_layouts();
    return layouts_;
  }
  bool is_moved(std::string_view table) {
    const auto excluded = excluded_tables();
    return std::ranges::find(excluded, table) == excluded.end();
  }

  virtual Layouts read_layouts() = 0;
  virtual void migrate() = 0;
  virtual void create_marker() = 0;

  Session* session_ = nullptr;  // stays null when the database does not exist and must not be created

 private:
  Layouts layouts_;
};

}  // namespace restante
