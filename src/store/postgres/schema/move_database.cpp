#include "store/postgres/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <thread>

#include "store/postgres/schema/migrations.h"
#include "store/postgres/schema/opening.h"
#include "store/sql/move_database.h"

namespace restante::postgres {
namespace {

constexpr std::chrono::milliseconds kReadOnlyPatience = std::chrono::seconds(5);
constexpr auto kAskAgain = std::chrono::milliseconds(50);
// For one statement: it builds nothing, but the table may be large and the machine busy.
constexpr auto kStatement = std::chrono::minutes(10);
// Bodies may have 1 MiB, but few do, so that many rows fit into memory. Every chunk has that size.
constexpr int kFetch = 100;
constexpr int kFetchChunks = 8;
constexpr const char* kSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

struct Layout {
  MoveTable table;
  std::vector<Type> types;          // of its columns
  std::vector<std::string> arrays;  // their parameters
  std::vector<std::string> numbered;
  std::string cursor;  // declares one over its rows
  std::string insert;  // takes one array per column
};

ColumnKind kind_of(Type type) {
  if (type == Type::boolean || type == Type::int8) return ColumnKind::integer;
  if (type == Type::timestamptz) return ColumnKind::time;
  if (type == Type::float8) return ColumnKind::real;
  if (type == Type::text || type == Type::json) return ColumnKind::text;
  if (type == Type::uuid || type == Type::bytea) return ColumnKind::bytes;
  throw std::logic_error(fmt::format("a column of type {} cannot be moved", static_cast<Oid>(type)));
}

MoveValue value_of(const Row& row, int at, Type type) {
  if (row.is_null(at)) return std::monostate();
  if (type == Type::boolean) return std::int64_t{row.boolean(at)};
  if (type == Type::int8) return row.integer(at);
  if (type == Type::timestamptz) return std::int64_t{row.time(at).time_since_epoch().count()};
  if (type == Type::float8) return row.real(at);
  if (kind_of(type) == ColumnKind::bytes) return MoveBytes{row.text(at)};
  return row.text(at);
}

struct Adder {
  Array& array;
  Type type;
  void operator()(std::monostate) const { array.add_null(); }
  void operator()(std::int64_t value) const {
    if (type == Type::timestamptz) {
      array.add(Time(std::chrono::microseconds(value)));
    } else if (type == Type::boolean) {
      array.add(value != 0);
    } else {
      array.add(value);
    }
  }
  void operator()(double value) const { array.add(value); }
  void operator()(const std::string& value) const { array.add(value); }
  void operator()(const MoveBytes& value) const { array.add(Bytes{value.bytes}); }
};

class PostgresMoveDatabase final : public SqlMoveDatabase<Connection, Layout> {
 public:
  PostgresMoveDatabase(const std::string& url, MoveUse use) : use_(use), connection_(endpoint_of(url)) {
    session_ = &connection_;
    require_sound(connection_);
    require_session(url);
    Migrations(connection_).require_ours();
    require_alone();
    if (use_ != MoveUse::source) return;
    require_settled(connection_);
    if (const auto reason = not_movable(Migrations(connection_).status())) throw OpenRefused(*reason);
    require_writable();
    connection_.query(kSnapshot);
  }

  std::vector<std::string> excluded_tables() override {
    // commit_marks is useless when its servers have ended; triggers fill the counts as the rows arrive.
    return {"schema_migrations", kMoveMarker,         "commit_marks",
            "delegation_counts", "delegation_totals", "upload_totals"};
  }
  void each_row(const MoveTable& table, const std::function<void(MoveRow&&)>& visit) override {
    const Layout& layout = layouts().at(table.name);
    if (use_ != MoveUse::source) connection_.query(kSnapshot);
    connection_.query(layout.cursor);
    const int some = table.name == "blob_chunks" ? kFetchChunks : kFetch;
    const std::string fetch = fmt::format("FETCH {} FROM {}_rows", some, table.name);
    for (auto rows = connection_.query(fetch); !rows.empty(); rows = connection_.query(fetch)) {
      for (const Row row : rows) visit(move_row(row, layout));
    }
    connection_.query(fmt::format("CLOSE {}_rows", table.name));
    if (use_ != MoveUse::source) connection_.query("COMMIT");
  }

  void put(const MoveTable& table, std::span<const MoveRow> rows) override {
    const Layout& layout = layouts().at(table.name);
    std::vector<Array> columns;
    for (const Type type : layout.types) columns.emplace_back(type);
    for (const MoveRow& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) std::visit(Adder{columns[i], layout.types[i]}, row[i]);
    }
    try {
      in_transaction(connection_, [&] { connection_.send_arrays(layout.insert, columns); });
    } catch (const std::logic_error& refused) {
      throw OpenRefused(fmt::format("PostgreSQL does not take a row of {}: {}", table.name, refused.what()));
    }
  }
  void release_ownership() override {
    connection_.query("COMMIT");  // ends the snapshot, which is read-only
    connection_.query("DELETE FROM post_offices");
    connection_.query(kSnapshot);
  }
  void finish() override {
    in_transaction(connection_, [&] {
      for (const auto& [name, layout] : layouts()) {
        for (const std::string& column : layout.numbered) {
          connection_.query(
              fmt::format("SELECT setval(pg_get_serial_sequence('{0}', '{1}'), coalesce(max({1}), 0) + 1, "
                          "false) FROM {0}",
                          name, column));
        }
      }
      connection_.query(fmt::format("DROP TABLE {}", kMoveMarker));
    });
    // The new tables have no statistics yet, and the first queries must not be planned for empty tables.
    for (const auto& [name, layout] : layouts()) connection_.query("ANALYZE " + name);
  }

 private:
  static ConnectionOptions endpoint_of(const std::string& url) {
    ConnectionOptions endpoint;
    endpoint.url = url;
    endpoint.statement_timeout = kStatement;
    endpoint.answer_timeout = kStatement + std::chrono::seconds(2);
    return endpoint;
  }

  // The lock must not stay in a session that another client gets.
  void require_session(const std::string& url) {
    try {
      Connection other(endpoint_of(url));
      require_own_sessions(connection_, other);
    } catch (...) {
      // Nor must our name and settings.
      connection_.execute("DISCARD ALL");
      throw;
    }
  }

  // For example a standby: everything would be copied, and then the ownership could not be released.
  void require_writable() {
    if (!connection_.query("SELECT current_setting('transaction_read_only') = 'on'").front().boolean(0)) return;
    throw OpenRefused(
        "the database can only be read, and a move must delete the installation's id in it: name the primary");
  }

  // A killed move may still be committing: its session holds the lock until it has finished.
  void require_alone() {
    // MoveUse::read_only does not take the lock, and does not wait until it could.
    bool held = use_ == MoveUse::read_only;
    const auto until = std::chrono::steady_clock::now() + (held ? kReadOnlyPatience : kSessionPatience);
    for (;;) {
      held = held || connection_.query("SELECT pg_try_advisory_lock($1)", kMoveLock).front().boolean(0);
      if (held && count_others() == 0) return;
      if (std::chrono::steady_clock::now() > until) break;
      std::this_thread::sleep_for(kAskAgain);
    }
    throw OpenRefused("a restante server, or another move, has this database open; stop it first");
  }

  // Counts the sessions of other servers and moves: by the lock, whatever their name and user, and by name, because
  // older servers do not take the lock.
  std::int64_t count_others() {
    return connection_
        .query(
            "SELECT (SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = "
            "current_database() AND l.pid <> pg_backend_pid() AND l.locktype = 'advisory' AND l.objsubid = 1 AND "
            "(l.classid::bigint << 32 | l.objid::bigint) = $1 AND l.granted) + (SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND starts_with(application_name, "
            "'restante'))",
            kMoveLock)
        .front()
        .integer(0);
  }

  void migrate() override { Migrations(connection_).up(); }
  void create_marker() override { connection_.query(fmt::format("CREATE TABLE {} (move text NOT NULL)", kMoveMarker)); }

  static MoveRow move_row(const Row& from, const Layout& layout) {
    MoveRow row;
    for (const Type type : layout.types) row.push_back(value_of(from, static_cast<int>(row.size()), type));
    return row;
  }

  Layouts read_layouts() override {
    Layouts layouts;
    for (const Row row : connection_.query(
             "SELECT c.relname::text, a.attname::text, a.atttypid::bigint, a.attidentity <> '', "
             "format_type(a.atttypid, NULL) FROM pg_class c JOIN "
             "pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind "
             "IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attname")) {
      if (!is_moved(row.view(0))) continue;
      Layout& layout = layouts[row.text(0)];
      const auto type = static_cast<Type>(row.integer(2));
      layout.table.name = row.text(0);
      layout.table.columns.push_back({row.text(1), kind_of(type)});
      layout.types.push_back(type);
      layout.arrays.push_back(fmt::format("${}::{}[]", layout.types.size(), row.view(4)));
      if (row.boolean(3)) layout.numbered.push_back(row.text(1));
    }
    for (auto& [name, layout] : layouts) write_statements(layout);
    return layouts;
  }

  void write_statements(Layout& layout) {
    const std::string& name = layout.table.name;
    std::vector<std::string> columns;
    for (const MoveColumn& column : layout.table.columns) columns.push_back(fmt::format("\"{}\"", column.name));
    layout.cursor = fmt::format("DECLARE {0}_rows NO SCROLL CURSOR FOR SELECT {1} FROM {0} ORDER BY {2}", name,
                                fmt::join(columns, ", "), key_of(name));
    layout.insert = fmt::format("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest({})", name,
                                fmt::join(columns, ", "), fmt::join(layout.arrays, ", "));
  }

  // The columns of its primary key, or of another unique index.
  std::string key_of(const std::string& table) {
    const auto rows = connection_.query(
        "SELECT string_agg(pg_get_indexdef(i.indexrelid, n, true), ', ' ORDER BY n) FROM pg_index i CROSS JOIN LATERAL "
        "generate_series(1, i.indnkeyatts) AS n WHERE i.indrelid = $1::text::regclass AND i.indisunique AND i.indpred "
        "IS NULL GROUP BY i.indexrelid, i.indisprimary ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1",
        table);
    if (rows.empty()) throw std::logic_error(fmt::format("{} has no key to be read by", table));
    return rows.front().text(0);
  }

  const MoveUse use_;
  Connection connection_;
};

}  // namespace

std::unique_ptr<MoveDatabase> open_move_database(const std::string& url, MoveUse use) {
  return refusing([&] { return std::make_unique<PostgresMoveDatabase>(url, use); });
}

}  // namespace restante::postgres
