#include "store/sqlite/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/sql/move_database.h"
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

// The columns are moved as PostgreSQL has them. An upload's rowid is moved as `position`, which keeps the order of
// files; its content_row is not moved. inbound_secrets.sealed is of type TEXT but holds bytes.
void adjust_columns(MoveTable& table) {
  for (MoveColumn& column : table.columns) {
    if (column.name == "sealed") column.kind = ColumnKind::bytes;
    if (column.name == "content_row") column = {"position", ColumnKind::integer};
  }
  std::ranges::sort(table.columns, {}, &MoveColumn::name);
}

Layout layout_of(MoveTable table, const std::string& order) {
  std::vector<std::string> columns, values;
  for (const MoveColumn& column : table.columns) {
    columns.push_back(column.name == "position" ? "rowid" : column.name);
    const auto value = fmt::format("?{}", columns.size());
    values.push_back(column.name == "sealed" ? fmt::format("CAST({} AS TEXT)", value) : value);
  }
  const auto select = fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(columns, ", "), table.name, order);
  if (table.name == "pending_uploads") {
    // The content of a small file gets the rowid of its upload.
    const auto value_of = [&](std::string_view column) {
      return values[static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin())];
    };
    values.push_back(fmt::format("CASE WHEN {} IS NULL THEN {} END", value_of("blob_key"), value_of("rowid")));
    columns.emplace_back("content_row");
  }
  const auto insert =
      fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, fmt::join(columns, ", "), fmt::join(values, ", "));
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

class SqliteMoveDatabase final : public SqlMoveDatabase<Database, Layout> {
 public:
  SqliteMoveDatabase(const fs::path& file, MoveUse use, Time now) : file_(file), now_(now) {
    const bool there = fs::exists(file) && fs::file_size(file) > 0;
    if (!there && use == MoveUse::source) throw OpenRefused(fmt::format("there is no database {}", file.string()));
    if (!there && use == MoveUse::read_only) return;
    if (use == MoveUse::target) fs::create_directories(directory_of(file));
    lock_ = std::make_unique<DataLock>(directory_of(file));
    Options options;
    options.migrate = false;
    options.checked_at_open = UINTMAX_MAX;
    options.may_create = use == MoveUse::target;
    database_ = open_checked(file, options, health_, use == MoveUse::source ? HalfMoved::refused : HalfMoved::accepted);
    session_ = database_.get();
    if (use != MoveUse::source) return;
    if (const auto reason = not_movable(Migrations(*session_).status())) {
      throw OpenRefused(fmt::format("{}: {}", file.string(), *reason));
    }
  }

  std::vector<std::string> excluded_tables() override {
    // Triggers fill the counts as the rows are inserted.
    return {"schema_migrations", kMoveMarker, "delegation_counts", "delegation_totals", "upload_totals"};
  }
  void each_row(const MoveTable& table, const std::function<void(MoveRow&&)>& visit) override {
    const Layout& layout = layouts().at(table.name);
    for (const Statement& from : session_->query(layout.select)) {
      MoveRow row;
      for (const MoveColumn& column : layout.table.columns)
        row.push_back(value_of(from, static_cast<int>(row.size()), column.kind));
      visit(std::move(row));
    }
  }
  void put(const MoveTable& table, std::span<const MoveRow> rows) override {
    const Layout& layout = layouts().at(table.name);
    in_transaction(*session_, [&] {
      for (const MoveRow& row : rows) {
        Statement insert = session_->query(layout.insert);
        for (std::size_t i = 0; i < row.size(); ++i) std::visit(Binder{insert, static_cast<int>(i) + 1}, row[i]);
        insert.step();
      }
    });
  }
  void release_ownership() override { session_->run("DELETE FROM post_offices"); }
  void finish() override { session_->execute(fmt::format("DROP TABLE {}", kMoveMarker)); }

 private:
  void migrate() override {
    refusing(file_, [&] { return Migrations(*session_).up(now_); });
  }
  void create_marker() override {
    session_->execute(fmt::format("CREATE TABLE {} (move TEXT NOT NULL) STRICT", kMoveMarker));
  }

  Layouts read_layouts() override {
    Layouts layouts;
    std::map<std::string, MoveTable> found;
    for (const Statement& row : session_->query(
             "SELECT t.name, c.name, c.type FROM pragma_table_list t JOIN pragma_table_info(t.name) c WHERE t.schema = "
             "'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.name")) {
      if (is_moved(row.view(0))) found[row.text(0)].columns.push_back({row.text(1), kind_of(row.view(2))});
    }
    for (auto& [name, table] : found) {
      table.name = name;
      adjust_columns(table);
      layouts[name] = name == "upload_contents" ? contents_layout() : layout_of(std::move(table), key_of(name));
    }
    return layouts;
  }

  // What its rows are ordered by: the rowid, or the primary key of a table without one.
  std::string key_of(const std::string& table) {
    std::vector<std::string> columns;
    for (const Statement& row : session_->query("SELECT c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) "
                                                "c WHERE t.schema = 'main' AND t.name "
                                                "= ? AND t.wr AND c.pk > 0 ORDER BY c.pk",
                                                table))
      columns.push_back(row.text(0));
    return columns.empty() ? "rowid" : fmt::format("{}", fmt::join(columns, ", "));
  }

  const fs::path file_;
  const Time now_;
  // Destroyed from the bottom: the lock is released last.
  std::unique_ptr<DataLock> lock_;
  Health health_;
  std::unique_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<MoveDatabase> open_move_database(const fs::path& file, MoveUse use, Time now) {
  return std::make_unique<SqliteMoveDatabase>(file, use, now);
}

}  // namespace restante::sqlite
