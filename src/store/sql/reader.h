// SqlReader: reads rows by SQL text. A text has the placeholders $1, $2, … in both databases, is prepared once and
// kept; values are bound, never pasted into it. find() and select() have read everything when they return, so a verb
// may write what it has just read. Belongs to one thread at a time. Throws Unavailable.
//
// `read` is a function of `const SqlRow&`. It must not use the SqlReader.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/sql/row.h"
#include "store/sql/value.h"

namespace restante {

// Words that SQLite and PostgreSQL spell differently.
struct SqlDialect {
  std::string_view greatest;  // of two values that are not NULL
  std::string_view least;
  std::string_view position;        // the column of pending_uploads that grows with every row
  std::string_view select_content;  // the content of the upload `p`, if its row keeps it
  bool names_indexes;

  // After the name of a table: which index to use. PostgreSQL chooses it.
  std::string indexed_by(std::string_view index) const {
    return names_indexes ? "INDEXED BY " + std::string(index) + " " : std::string();
  }
};

class SqlReader {
 public:
  virtual const SqlDialect& dialect() const = 0;

  // The first row.
  template <class Read, class... Args>
  auto find(Read read, std::string_view sql, const Args&... args) {
    std::optional<std::decay_t<std::invoke_result_t<Read&, const SqlRow&>>> found;
    each(
        [&](const SqlRow& row) {
          found.emplace(read(row));
          return false;
        },
        sql, args...);
    return found;
  }
  // All rows.
  template <class Read, class... Args>
  auto select(Read read, std::string_view sql, const Args&... args) {
    std::vector<std::decay_t<std::invoke_result_t<Read&, const SqlRow&>>> all;
    each(
        [&](const SqlRow& row) {
          all.push_back(read(row));
          return true;
        },
        sql, args...);
    return all;
  }
  template <class... Args>
  bool has_row(std::string_view sql, const Args&... args) {
    return find([](const SqlRow&) { return true; }, sql, args...).has_value();
  }
  // Passes each row to `visit`, until it returns false.
  template <class Visit, class... Args>
  void each(Visit visit, std::string_view sql, const Args&... args) {
    visit_rows(sql, sql_values(args...), std::ref(visit));
  }
  // Runs the text once for each of the keys, which is its only value, in one round trip. Passes each row to
  // `visit(key, row)`.
  template <class Keys, class Visit>
  void each_of(const Keys& keys, Visit visit, std::string_view sql) {
    if (keys.empty()) return;
    const std::vector<SqlValue> values(keys.begin(), keys.end());
    visit_rows_of(sql, values, [&](std::size_t at, const SqlRow& row) { visit(keys[at], row); });
  }

 protected:
  using VisitRow = std::function<bool(const SqlRow&)>;
  using VisitRowOf = std::function<void(std::size_t key, const SqlRow&)>;
  ~SqlReader() = default;

 private:
  virtual void visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) = 0;
  virtual void visit_rows_of(std::string_view sql, std::span<const SqlValue> keys, const VisitRowOf& visit) {
    for (std::size_t at = 0; at < keys.size(); ++at) {
      const auto visit_one = [&](const SqlRow& row) {
        visit(at, row);
        return true;
      };
      visit_rows(sql, keys.subspan(at, 1), visit_one);
    }
  }
};

}  // namespace restante
