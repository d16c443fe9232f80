#include "cli/server/move.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/names.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "store/postgres/store.h"
#include "store/sqlite/store.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEmbedded = "sqlite://";
using Outcome = MoveReport::Outcome;
constexpr Names<Outcome, Outcome::different> kOutcomes{"would_move", "moved", "same", "different"};
constexpr Names<TargetState, TargetState::not_empty> kTargetStates{"empty", "moving", "inhabited"};

bool is_shared(const std::string& url) { return url.starts_with("postgres://") || url.starts_with("postgresql://"); }

// The url may contain a password, so errors do not repeat it.
fs::path file_of(const char* flag, const std::string& url) {
  if (!url.starts_with(kEmbedded) || url == kEmbedded) {
    throw CommandFailed(kExitUsage,
                        fmt::format("{} must be sqlite://PATH, where PATH is the file (data/restante.db), or "
                                    "postgres://USER@HOST/DATABASE",
                                    flag));
  }
  fs::path file = url.substr(kEmbedded.size());
  if (fs::is_directory(file)) {
    throw CommandFailed(kExitUsage, fmt::format("{} names a directory: did you mean sqlite://{}?", flag,
                                                (file / "restante.db").string()));
  }
  return file;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code none;  // ignored: a path that does not exist yet is not the other one
  return fs::equivalent(one, other, none);
}

// Compares the files themselves, not their paths.
void require_two_files(const fs::path& from, const fs::path& to) {
  if (is_same(from, to)) throw CommandFailed(kExitUsage, "--from and --to name the same database");
  if (!is_same(folder_of(from), folder_of(to))) return;
  throw CommandFailed(
      kExitUsage, fmt::format("--from and --to are in the same directory, {}: a data directory is for one database, "
                              "so name a file in another one (--to sqlite://DIRECTORY/restante.db)",
                              folder_of(from).string()));
}

// Checked before anything is opened, also in a dry run: a directory can only be created in a directory.
void require_folder(const char* flag, fs::path folder) {
  folder = fs::absolute(folder);
  while (!fs::exists(folder)) folder = folder.parent_path();
  if (fs::is_directory(folder)) return;
  throw CommandFailed(kExitUnavailable, fmt::format("{}: {} is not a directory", flag, folder.string()));
}

// Both are checked before either is opened: a typo in the second should not cost a wait for the first.
void check_move_options(const MoveOptions& options) {
  if (options.from == options.to) throw CommandFailed(kExitUsage, "--from and --to name the same database");
  std::optional<fs::path> from, to;
  if (!is_shared(options.from)) from = file_of("--from", options.from);
  if (!is_shared(options.to)) to = file_of("--to", options.to);
  if (from && to) require_two_files(*from, *to);
  if (to) require_folder("--to", folder_of(*to));
  if (!options.data_to.empty()) require_folder("--data-to", options.data_to);
}

std::unique_ptr<MoveDatabase> open_end(const char* flag, const std::string& url, MoveUse use) {
  try {
    if (is_shared(url)) return postgres::open_move_database(url, use);
    return sqlite::open_move_database(file_of(flag, url), use, SystemClock().now());
  } catch (const OpenRefused& refused) {
    throw CommandFailed(kExitUnavailable, fmt::format("{}: {}", flag, refused.what()));
  }
}

DataMove data_of(const MoveOptions& options) {
  DataMove move;
  move.from = options.data.empty() ? fs::path("data") : fs::path(options.data);
  if (options.data.empty() && !is_shared(options.from)) {
    move.from = folder_of(file_of("--from", options.from));
  }
  if (!options.data_to.empty()) move.to = options.data_to;
  return move;
}

// Shows one step after the other, each with its own bar or its own lines.
class MoveProgress final : public MoveWatcher {
 public:
  void begin(MoveStep step, std::int64_t rows, std::int64_t done) override {
    constexpr const char* kSteps[] = {"Reading", "Writing", "Comparing"};
    begin(fmt::format("{} {} rows", kSteps[static_cast<int>(step)], rows),
          done > 0 ? fmt::format(", {} of them there already", done) : "", static_cast<std::uint64_t>(rows - done),
          Progress::Unit::rows);
  }
  void begin_bytes(std::size_t files, std::uint64_t bytes) {
    begin(fmt::format("Copying {} files ({})", files, format_bytes(bytes)), "", bytes, Progress::Unit::bytes);
  }
  void add(std::int64_t amount) override {
    bar_->add(static_cast<std::uint64_t>(amount));
    done_ += static_cast<std::uint64_t>(amount);
    // Without a terminal, one line for every tenth: a log shows the progress without being filled.
    if (::isatty(STDERR_FILENO) == 1 || total_ == 0 || done_ * 10 / total_ == reported_) return;
    reported_ = done_ * 10 / total_;
    fmt::print(stderr, "  {} %\n", reported_ * 10);
  }
  void end() { bar_.reset(); }

 private:
  void begin(const std::string& what, const std::string& more, std::uint64_t total, Progress::Unit unit) {
    bar_.reset();
    fmt::print(stderr, "{}{}.\n", what, more);
    total_ = total;
    done_ = reported_ = 0;
    bar_.emplace(total, unit);
  }

  std::optional<Progress> bar_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t reported_ = 0;
};

void print_report(const MoveOptions& options, const MoveReport& report) {
  print(options.json ? move_json(report) + '\n' : format_move(report, colours()));
  if (report.copied_data.missing + report.copied_data.changed > 0) {
    warn(fmt::format(
        "the content of {} files is missing, and the content of {} files is not what was sent: the disk had lost it "
        "before the move, and the new server will notify the senders",
        report.copied_data.missing, report.copied_data.changed));
  }
}

MoveReport start_report(const DataMove& data) {
  MoveReport report;
  report.data = data.to.value_or(data.from).string();
  report.copies = data.to.has_value();
  return report;
}

int dry_run(const MoveOptions& options, const DataMove& data) {
  MoveProgress progress;
  const auto from = open_end("--from", options.from, MoveUse::source);
  const auto to = open_end("--to", options.to, MoveUse::read_only);
  const auto bytes = list_bytes(*from);
  require_data(data, bytes);
  const MovePlan plan = plan_move(*from, *to, progress);
  progress.end();
  MoveReport report = start_report(data);
  report.outcome = Outcome::would_move;
  report.target = plan.target;
  report.resumed_at = plan.there;
  report.from = plan.from;
  report.copied_data = inspect_data(data, bytes);
  report.objects = count_objects(*from);
  print_report(options, report);
  if (plan.target != TargetState::not_empty) return kExitOk;
  throw CommandFailed(kExitUnavailable, fmt::format("--to: the target is not empty, it holds {} rows: a move needs a "
                                                    "separate database, since ids and numbers are kept",
                                                    plan.there));
}

int finish(const MoveOptions& options, MoveReport& report, Moved moved, Outcome good) {
  report.outcome = moved.same() ? good : Outcome::different;
  report.resumed_at = moved.resumed_at;
  report.from = std::move(moved.from);
  report.to = std::move(moved.to);
  print_report(options, report);
  if (report.outcome == good) return kExitOk;
  throw CommandFailed(kExitFailed, "the two databases differ; the table above shows where");
}

int verify(const MoveOptions& options, const DataMove& data) {
  MoveProgress progress;
  const auto from = open_end("--from", options.from, MoveUse::source);
  const auto to = open_end("--to", options.to, MoveUse::read_only);
  Moved moved = compare_databases(*from, *to, progress);
  progress.end();
  MoveReport report = start_report(data);
  report.target = state_of(*to);
  report.copied_data = inspect_data({.from = data.to.value_or(data.from), .to = {}}, list_bytes(*from));
  report.objects = count_objects(*from);
  return finish(options, report, std::move(moved), Outcome::same);
}

int move_all(const MoveOptions& options, const DataMove& data) {
  MoveProgress progress;
  const auto from = open_end("--from", options.from, MoveUse::source);
  const auto to = open_end("--to", options.to, MoveUse::target);
  MoveReport report = start_report(data);
  report.target = state_of(*to);
  const auto bytes = list_bytes(*from);
  require_data(data, bytes);
  require_empty_target(*to);
  // Files before rows, as everywhere: a row is a promise that its content can be read.
  if (data.to) progress.begin_bytes(bytes.size(), inspect_data(data, bytes).bytes);
  report.copied_data =
      copy_data(data, bytes, [&](std::uint64_t size) { progress.add(static_cast<std::int64_t>(size)); });
  report.objects = count_objects(*from);
  Moved moved = move_database(*from, *to, progress);
  progress.end();
  return finish(options, report, std::move(moved), Outcome::moved);
}

Cell comparison_of(const TableInventory& from, const Inventory& to) {
  for (const TableInventory& other : to) {
    if (other.name != from.name) continue;
    if (other == from) return {"the same", Paint::good};
    return {other.rows == from.rows ? "as many, but not the same" : fmt::format("differs: {} rows", other.rows),
            Paint::bad};
  }
  return {};
}

std::string sentence(const MoveReport& report) {
  const auto rows = fmt::format("{} rows of {} tables", rows_of(report.from), report.from.size());
  switch (report.outcome) {
    case Outcome::would_move:
      break;
    case Outcome::moved:
      return fmt::format(
          "Moved {}. The old database still holds all of them: keep it until the new server has proved itself, but "
          "start no server on it. The directory and the bucket with the files belong to the new database now; a server "
          "on the old one does not start there. To go back, stop the new server and run with the settings of the old "
          "one: restante blobs adopt --force\n",
          rows);
    case Outcome::same:
      return fmt::format("Both hold the same {}.\n", rows);
    case Outcome::different:
      return "They are not the same.\n";
  }
  if (report.target == TargetState::not_empty) return fmt::format("The target is not empty; {} cannot move.\n", rows);
  if (report.target == TargetState::moving)
    return fmt::format("Would move {}, {} of which are there already. Nothing was changed.\n", rows, report.resumed_at);
  return fmt::format("Would move {} into an empty database. Nothing was changed.\n", rows);
}

std::string describe_bytes(const MoveReport& report) {
  const auto what = fmt::format("{} files ({})", report.copied_data.files, format_bytes(report.copied_data.bytes));
  if (!report.copies)
    return fmt::format("Beside it {} stay in {}: the new server uses the same --data.\n", what, report.data);
  const bool would = report.outcome == Outcome::would_move;
  return fmt::format("Beside it {}, the operator's token and the server's key {} {}: the new server's --data.\n", what,
                     would ? "would be copied to" : "are in", report.data);
}

std::string describe_objects(const MoveReport& report) {
  if (report.objects == 0) return {};
  return fmt::format("Objects in S3: {}; they stay in their bucket, and the new server needs the same [s3] settings.\n",
                     report.objects);
}

void write_table(JsonWriter& out, const TableInventory& table, const Inventory& to) {
  out.member("name", table.name);
  out.member("rows", table.rows);
  out.member("digest", to_hex(table.digest));
  for (const TableInventory& other : to) {
    if (other.name != table.name) continue;
    out.member("target_rows", other.rows);
    out.member("target_digest", to_hex(other.digest));
  }
}

}  // namespace

int move(const MoveOptions& options) {
  try {
    check_move_options(options);
    const DataMove data = data_of(options);
    if (options.verify) return verify(options, data);
    return options.dry_run ? dry_run(options, data) : move_all(options, data);
  } catch (const OpenRefused& refused) {
    throw CommandFailed(kExitUnavailable, refused.what());
  } catch (const fs::filesystem_error& failed) {
    throw CommandFailed(kExitUnavailable,
                        fmt::format("cannot use {}: {}", failed.path1().string(), failed.code().message()));
  }
}

std::string format_move(const MoveReport& report, Colours colours) {
  std::vector<TableRow> rows;
  for (const TableInventory& table : report.from) {
    rows.push_back({{table.name},
                    {std::to_string(table.rows)},
                    {to_hex(table.digest).substr(0, 16), Paint::faint},
                    comparison_of(table, report.to)});
  }
  return format_table({"TABLE", "ROWS", "DIGEST", report.to.empty() ? "" : "TARGET"}, rows, colours) + '\n' +
         sentence(report) + describe_bytes(report) + describe_objects(report);
}

std::string move_json(const MoveReport& report) {
  const CopiedData& copied = report.copied_data;
  return json_object([&](JsonWriter& out) {
    out.member("outcome", kOutcomes.of(report.outcome));
    out.member("target", kTargetStates.of(report.target));
    out.member("rows", rows_of(report.from));
    out.member("resumed_at", report.resumed_at);
    out.objects("tables", report.from, [&](const TableInventory& table) { write_table(out, table, report.to); });
    out.object("files", [&] {
      out.member("data", report.data);
      out.member("files", static_cast<std::int64_t>(copied.files));
      out.member("bytes", static_cast<std::int64_t>(copied.bytes));
      out.member("copied", static_cast<std::int64_t>(copied.copied));
      out.member("missing", static_cast<std::int64_t>(copied.missing));
      out.member("changed", static_cast<std::int64_t>(copied.changed));
      out.member("objects", static_cast<std::int64_t>(report.objects));
    });
  });
}

}  // namespace restante::cli
