#include "store/sqlite/schema/move_database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "store/sqlite/schema/data_lock.h"
#include "store/sqlite/schema/migrations.h"
#include "store/sqlite/schema/opening.h"

namespace restante::sqlite {
namespace {

namespace fs = std::filesystem;

// How a table is read and written in SQLite.
struct Layout {
  MoveTable table;
  std::string select;  // reads all rows
  std::string insert;  // inserts one row, values in the order of the columns
};

ColumnKind kind_of(std::string_view type) {
  if (type == "INTEGER") return ColumnKind::integer;
  if (type == "REAL") return ColumnKind::real;
  if (type == "TEXT") return ColumnKind::text;
  if (type == "BLOB") return ColumnKind::bytes;
  throw std::logic_error(fmt::format("a column of type {} cannot be moved", type));
}

std::vector<std::string> names_of(const MoveTable& table) {
  std::vector<std::string> names;
  for (const MoveColumn& column : table.columns) names.push_back(column.name);
  return names;
}

std::string parameter(const MoveTable& table, std::string_view column) {
  const auto found = std::ranges::find(table.columns, column, &MoveColumn::name);
  return fmt::format("?{}", found - table.columns.begin() + 1);
}

std::vector<std::string> parameters(const MoveTable& table) {
  std::vector<std::string> all;
  for (const MoveColumn& column : table.columns) all.push_back(parameter(table, column.name));
  return all;
}

Layout plain_layout(MoveTable table, const std::string& order) {
  const auto columns = names_of(table);
  const auto select = fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(columns, ", "), table.name, order);
  const auto insert = fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, fmt::join(columns, ", "),
                                  fmt::join(parameters(table), ", "));
  return {std::move(table), select, insert};
}

// The rowid is moved as the column `position`, which keeps the order of files. content_row is not moved: the content of
// a small file gets the rowid of its upload.
Layout uploads_layout(MoveTable table) {
  std::erase_if(table.columns, [](const MoveColumn& column) { return column.name == "content_row"; });
  auto columns = names_of(table);
  const MoveColumn position{"position", ColumnKind::integer};
  table.columns.insert(std::ranges::lower_bound(table.columns, position.name, {}, &MoveColumn::name), position);
  const auto select =
      fmt::format("SELECT {} FROM pending_uploads ORDER BY rowid", fmt::join(
                                                                       [&] {
                                                                         auto all = names_of(table);
                                                                         std::ranges::replace(all, "position", "rowid");
                                                                         return all;
                                                                       }(),
                                                                       ", "));
  std::vector<std::string> values;
  for (const auto& column : columns) values.push_back(parameter(table, column));
  const auto insert = fmt::format(
      "INSERT INTO pending_uploads (rowid, content_row, {0}) VALUES ({1}, CASE WHEN {2} IS NULL THEN {1} END, {3})",
      fmt::join(columns, ", "), parameter(table, "position"), parameter(table, "blob_key"), fmt::join(values, ", "));
  return {std::move(table), select, insert};
}

// PostgreSQL finds contents by file_id. The insert needs the rows of pending_uploads, which is filled first: its name
// comes first.
Layout contents_layout() {
  MoveTable table{"upload_contents", {{"content", ColumnKind::bytes}, {"file_id", ColumnKind::bytes}}};
  return {std::move(table),
          "SELECT c.content, u.file_id FROM pending_uploads u JOIN upload_contents c ON c.id = u.content_row ORDER BY "
          "u.rowid",
          "INSERT INTO upload_contents (id, content) SELECT rowid, ?1 FROM pending_uploads WHERE file_id = ?2"};
}

// The column `sealed` is of type TEXT but holds bytes.
Layout secrets_layout(MoveTable table) {
  for (MoveColumn& column : table.columns) {
    if (column.name == "sealed") column.kind = ColumnKind::bytes;
  }
  Layout layout = plain_layout(std::move(table), "workspace_id");
  layout.select.replace(layout.select.find("sealed"), std::string_view("sealed").size(), "CAST(sealed AS BLOB)");
  const std::string value = parameter(layout.table, "sealed");
  layout.insert.replace(layout.insert.find(value), value.size(), fmt::format("CAST({} AS TEXT)", value));
  return layout;
}

MoveValue value_of(const Statement& row, int at, ColumnKind kind) {
  if (row.is_null(at)) return std::monostate();
  if (kind == ColumnKind::integer) return row.integer(at);
  if (kind == ColumnKind::real) return row.real(at);
  if (kind == ColumnKind::text) return row.text(at);
  return MoveBytes{row.text(at)};
}

struct Binder {
  Statement& statement;
  int at;
  void operator()(std::monostate) const { statement.set(at, std::nullopt); }
  void operator()(std::int64_t value) const { statement.set(at, value); }
  void operator()(double value) const { statement.set(at, value); }
  void operator()(const std::string& value) const { statement.set(at, value); }
  void operator()(const MoveBytes& value) const { statement.set(at, Bytes{value.bytes}); }
};

class SqliteMoveDatabase final : public MoveDatabase {
 public:
  SqliteMoveDatabase(const fs::path& file, MoveUse use, Time now) : file_(file), now_(now) {
    const bool there = fs::exists(file) && fs::file_size(file) > 0;
    if (!there && use == MoveUse::source) throw OpenRefused(fmt::format("there is no database {}", file.string()));
    if (!there && use == MoveUse::read_only) return;
    if (use == MoveUse::target) fs::create_directories(directory_of(file));
    lock_ = std::make_unique<DataLock>(directory_of(file));
    Options options;
    options.migrate = false;
    options.may_create = use == MoveUse::target;
    database_ = open_checked(file, options, health_, use == MoveUse::source ? HalfMoved::refused : HalfMoved::accepted);
    if (use == MoveUse::source) require_same_schema();
  }

  std::vector<MoveTable> tables() override {
    std::vector<MoveTable> all;
    for (const auto& [name, layout] : layouts()) all.push_back(layout.table);
    return all;
  }
  std::vector<std::string> excluded_tables() override {
    // Triggers fill delegation_counts as the rows are inserted.
    return {"schema_migrations", kMoveMarker, "delegation_counts"};
  }
  std::int64_t count(const MoveTable& table) override {
    Statement row = database_->query(fmt::format("SELECT count(*) FROM {}", table.name));
    row.step();
    return row.integer(0);
  }
  void each_row(const MoveTable& table, const std::function<void(MoveRow&&)>& visit) override {
    const Layout layout = layouts().at(table.name);
    Statement rows = database_->query(layout.select);
    while (rows.step()) {
      MoveRow row;
      for (const MoveColumn& column : layout.table.columns)
        row.push_back(value_of(rows, static_cast<int>(row.size()), column.kind));
      visit(std::move(row));
    }
  }

  std::optional<std::string> marker() override {
    if (!database_ || !database_->query("SELECT 1 FROM sqlite_schema WHERE name = ?", kMoveMarker).step()) return {};
    Statement row = database_->query(fmt::format("SELECT max(move) FROM {}", kMoveMarker));
    row.step();
    return row.text(0);
  }
  void prepare() override {
    refusing(file_, [&] { return Migrations(*database_).up(now_); });
    layouts_.clear();
  }
  void begin(const std::string& name) override {
    in_transaction([&] {
      database_->execute(fmt::format("CREATE TABLE {} (move TEXT NOT NULL) STRICT", kMoveMarker));
      database_->run(fmt::format("INSERT INTO {} VALUES (?)", kMoveMarker), name);
      for (const auto table : kTablesFilledAtStart) database_->execute(fmt::format("DELETE FROM {}", table));
    });
  }
  void put(const MoveTable& table, std::span<const MoveRow> rows) override {
    const Layout layout = layouts().at(table.name);
    in_transaction([&] {
      for (const MoveRow& row : rows) {
        Statement insert = database_->query(layout.insert);
        for (std::size_t i = 0; i < row.size(); ++i) std::visit(Binder{insert, static_cast<int>(i) + 1}, row[i]);
        insert.step();
      }
    });
  }
  void release_ownership() override {
    in_transaction([&] { database_->run("DELETE FROM post_offices"); });
  }
  void finish() override {
    in_transaction([&] { database_->execute(fmt::format("DROP TABLE {}", kMoveMarker)); });
  }

 private:
  void require_same_schema() {
    if (const auto reason = not_movable(Migrations(*database_).status())) {
      throw OpenRefused(fmt::format("{}: {}", file_.string(), *reason));
    }
  }

  template <class Body>
  void in_transaction(Body body) {
    database_->run("BEGIN IMMEDIATE");
    try {
      body();
      database_->run("COMMIT");
    } catch (...) {
      database_->rollback();
      throw;
    }
  }

  const std::map<std::string, Layout>& layouts() {
    if (!layouts_.empty() || !database_) return layouts_;
    const auto excluded = excluded_tables();
    std::map<std::string, std::pair<MoveTable, bool>> found;
    Statement row = database_->query(
        "SELECT t.name, t.wr, c.name, c.type FROM pragma_table_list t JOIN pragma_table_info(t.name) c WHERE t.schema "
        "= "
        "'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.name");
    while (row.step()) {
      if (std::ranges::find(excluded, row.view(0)) != excluded.end()) continue;
      auto& [table, without_rowid] = found[row.text(0)];
      table.name = row.text(0);
      without_rowid = row.integer(1) != 0;
      table.columns.push_back({row.text(2), kind_of(row.view(3))});
    }
    for (auto& [name, table] : found) layouts_[name] = layout_of(std::move(table.first), table.second);
    return layouts_;
  }

  Layout layout_of(MoveTable table, bool without_rowid) {
    if (table.name == "pending_uploads") return uploads_layout(std::move(table));
    if (table.name == "upload_contents") return contents_layout();
    if (table.name == "inbound_secrets") return secrets_layout(std::move(table));
    const std::string order = without_rowid ? key_of(table.name) : "rowid";
    return plain_layout(std::move(table), order);
  }

  std::string key_of(const std::string& table) {
    std::vector<std::string> columns;
    Statement row = database_->query("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table);
    while (row.step()) columns.push_back(row.text(0));
    return fmt::format("{}", fmt::join(columns, ", "));
  }

  const fs::path file_;
  const Time now_;
  // Destroyed from the bottom: the lock is released last.
  std::unique_ptr<DataLock> lock_;
  Health health_;
  std::unique_ptr<Database> database_;     // null when the file does not exist and must not be created
  std::map<std::string, Layout> layouts_;  // filled once the schema exists
};

}  // namespace

std::unique_ptr<MoveDatabase> open_move_database(const fs::path& file, MoveUse use, Time now) {
  return std::make_unique<SqliteMoveDatabase>(file, use, now);
}

}  // namespace restante::sqlite
