#include <fmt/format.h>

#include "cli/format.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "cli/uploads/send.h"

namespace restante::cli {
namespace {

// A list for a person ends after kShown; a script gets the most that one answer of the server contains.
constexpr std::size_t kShown = 500;
constexpr int kMostRows = 1'000;
constexpr std::string_view kNarrow = "--workspace and --state narrow it down, --stats counts them all";

// A damaged file that an agent still waits for is `failed` and has the reason. Any other damaged file gets the note
// here. A file from the agent does not wait for anything.
Cell state_of(const Json& file) {
  const bool stays = file.text("direction") == "out" && file.text("state") == "staged";
  Cell cell = stays ? Cell{"from the agent", Paint::plain} : describe_state(file);
  if (file.text("damage").empty() || file.text("state") == "failed") return cell;
  return {cell.text + ", damaged since", Paint::bad};
}

}  // namespace

int uploads(const UploadsOptions& options) {
  check_choice("state", options.state,
               {"waiting", "never_fetched", "fetched", "acked", "failed", "expired", "outgoing", "damaged", "all"});
  Remote remote(options.remote);
  const auto limit = options.remote.json ? kMostRows : kShown + 1;
  std::string target =
      options.stats ? "/admin/uploads/stats" : fmt::format("/admin/uploads?limit={}&state={}", limit, options.state);
  if (!options.workspace.empty())
    target += (options.stats ? "?workspace=" : "&workspace=") + remote.find_workspace(options.workspace).text();
  const std::string answer = remote.get(target);
  const Json parsed = parse_answer(answer);
  if (options.remote.json) {
    if (!options.stats && parsed.whole("count") >= kMostRows)
      warn(fmt::format("these are the first {}; {}", kMostRows, kNarrow));
    return print(answer + '\n');
  }
  return print(options.stats ? format_upload_stats(parsed, colours())
                             : format_uploads(parsed, SystemClock().now(), colours()));
}

std::string workspace_of(const Json& row) {
  const std::string name = row.text("workspace_name");
  return name.empty() ? row.text("workspace_id") : name;
}

std::string format_uploads(const Json& answer, Time now, Colours colours) {
  const auto& uploads = answer.items("uploads");
  if (uploads.empty()) return "No file is in this state.\n";
  std::vector<TableRow> rows;
  for (const Json& one : uploads) {
    if (rows.size() == kShown) break;
    rows.push_back({{workspace_of(one)},
                    {one.text("name")},
                    {format_bytes(one.whole("size"))},
                    {format_ago(one.text("created_at"), now)},
                    state_of(one),
                    {format_ago(one.text("expires_at"), now)},
                    {one.text("file_id")}});
  }
  std::string text = format_table({"FOR", "FILE", "SIZE", "SENT", "STATE", "EXPIRES", "ID"}, rows, colours);
  if (uploads.size() > kShown) text += fmt::format("There are more than these {}: {}.\n", kShown, kNarrow);
  return text;
}

std::string format_upload_stats(const Json& answer, Colours colours) {
  const auto row = [](const std::string& label, const Json& counts) -> TableRow {
    TableRow cells{{label}};
    for (const char* state : {"never_fetched", "fetched", "acked", "failed", "expired", "damaged"}) {
      const Json* group = counts.find(state);
      const auto files = group ? group->whole("files") : 0;
      cells.push_back({files == 0 ? "-" : fmt::format("{} ({})", files, format_bytes(group->whole("bytes"))),
                       files == 0 ? Paint::faint : Paint::plain});
    }
    return cells;
  };
  std::vector<TableRow> rows;
  for (const Json& one : answer.items("workspaces")) rows.push_back(row(workspace_of(one), one));
  if (const Json* total = answer.find("total")) rows.push_back(row("all together", *total));
  return format_table({"FOR", "NEVER FETCHED", "FETCHED, NOT ACKED", "ACKED", "FAILED", "EXPIRED", "DAMAGED"}, rows,
                      colours);
}

}  // namespace restante::cli
