#include "cli/blobs/blobs.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "cli/remote/remote.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "model/upload.h"

namespace restante::cli {
namespace {

constexpr auto kAskEvery = std::chrono::milliseconds(500);
constexpr auto kNothingFor = std::chrono::minutes(1);
constexpr const char* kTarget = "/admin/blobs";

std::string amount(std::uint64_t files, std::uint64_t bytes) {
  return fmt::format("{} {} ({})", files, files == 1 ? "file" : "files", format_bytes(bytes));
}

const Json* migration_of(const Json& answer) {
  const Json* move = answer.find("migration");
  return move && !move->text("phase").empty() ? move : nullptr;
}

std::int64_t over_all_places(const Json& answer, std::string_view figure) {
  std::int64_t sum = 0;
  for (const Json& one : answer.items("places")) sum += one.whole(figure);
  return sum;
}

// The bytes that are still to be copied or, when finishing, to be deleted.
std::int64_t bytes_left(const Json& answer, bool finishing) {
  const Json* move = migration_of(answer);
  const std::int64_t to_copy = move ? move->whole("left_bytes") : 0;
  return finishing ? to_copy + over_all_places(answer, "second_copies_bytes") : to_copy;
}

// Shows the progress until the phase is reached. The whole is what was left at the first answer; files that are added
// meanwhile do not reduce it.
std::string wait_for(Remote& remote, std::string answer, const std::string& until_phase) {
  Json seen = parse_answer(answer);
  const Json* move = migration_of(seen);
  if (!move) return answer;
  const bool finishing = until_phase == "finished";
  std::int64_t left = bytes_left(seen, finishing);
  std::optional<Progress> progress;
  if (left > 0) progress.emplace(left);
  MoveStallDetector stall(kNothingFor);
  while (move && move->text("phase") != "finished" && (finishing || move->whole("left_files") > 0)) {
    std::this_thread::sleep_for(kAskEvery);
    answer = remote.get(kTarget);
    seen = parse_answer(answer);
    move = migration_of(seen);
    const std::int64_t now = bytes_left(seen, finishing);
    if (progress && now < left) progress->add(left - now);
    left = std::min(left, now);
    const std::string reason = stall.observe(seen, std::chrono::steady_clock::now());
    if (!reason.empty()) {
      fmt::print(stderr, "{}{}\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", reason);
    }
    if (stall.is_stalled()) throw CommandFailed(kExitTryAgain, stall.reason_to_stop());
  }
  return answer;
}

int show(const BlobsOptions& options, const std::string& answer) {
  return print_answer(options.remote, answer, [](const Json& blobs) { return format_blobs(blobs, colours()); });
}

Cell health_of(const Json& place) {
  if (!place.flag("configured")) return {"not set up", Paint::faint};
  if (place.flag("healthy")) return {"works", Paint::good};
  return {place.text("error"), Paint::bad};
}

std::string format_places(const Json& answer, Colours colours) {
  if (answer.items("places").empty()) return {};
  const std::string writes = answer.text("writes_to");
  const std::string also = answer.text("also_to");
  std::vector<TableRow> rows;
  for (const Json& one : answer.items("places")) {
    const std::string name = one.text("place");
    const std::int64_t second = one.whole("second_copies");
    rows.push_back({{name},
                    {name == writes || name == also ? "yes" : "-", name == writes ? Paint::good : Paint::plain},
                    {std::to_string(one.whole("files"))},
                    {format_bytes(one.whole("bytes"))},
                    {second == 0 ? "-" : amount(second, one.whole("second_copies_bytes"))},
                    {one.whole("damaged_files") == 0 ? "-" : std::to_string(one.whole("damaged_files")),
                     one.whole("damaged_files") == 0 ? Paint::plain : Paint::bad},
                    health_of(one)});
  }
  return format_table({"PLACE", "NEW FILES", "FILES", "SIZE", "SECOND COPIES", "DAMAGED", "STATE"}, rows, colours);
}

std::string left_of(const Json& move) {
  const std::int64_t left = move.whole("left_files");
  if (left == 0) return "Everything is there; the old copies are kept until: restante blobs finish\n";
  std::string text = fmt::format("{} still to be copied", amount(left, move.whole("left_bytes")));
  if (const std::int64_t rate = move.whole("bytes_per_second"); rate > 0) {
    text += fmt::format(", {}/s, about {} s left", format_bytes(rate), move.whole("seconds_left"));
  }
  if (const std::int64_t limit = move.whole("rate"); limit > 0) {
    text += fmt::format(", at most {}/s (--rate)", format_bytes(limit));
  }
  return text + ".\n";
}

std::string format_move(const Json& move) {
  const std::string phase = move.text("phase");
  const std::string from = move.text("from");
  const std::string to = move.text("to");
  std::string text;
  if (phase == "both") {
    text = fmt::format("Blob move from {} to {}. {}", from, to, left_of(move));
  } else if (phase == "finishing") {
    text = fmt::format("Finishing the blob move to {}: the old copies in {} are being deleted.\n", to, from);
  } else {
    text = fmt::format("The blob move from {} to {} has finished.\n", from, to);
  }
  if (const std::int64_t failures = move.whole("failures"); failures > 0) {
    text += fmt::format("{} attempts failed and are repeated, the last one because: {}\n", failures,
                        move.text("last_failure"));
  }
  if (const std::string reason = move.text("held_up"); !reason.empty()) {
    text += fmt::format("The server that was asked leaves it to others: {}\n", reason);
  } else if (move.text("copied_by") == "another_server") {
    text += "Another server has the work: its log has the failures (blob_not_moved).\n";
  }
  return text;
}

}  // namespace

int blobs_status(const BlobsOptions& options) { return show(options, Remote(options.remote).get(kTarget)); }

int blobs_migrate(const BlobsOptions& options) {
  Remote remote(options.remote);
  const auto rate = parse_rate(options.rate);
  if (!rate) {
    throw CommandFailed(kExitUsage,
                        fmt::format("--rate is an amount of bytes a second, like 10MB, not {}", options.rate));
  }
  const std::string at = options.rate.empty() ? "" : fmt::format(R"(,"rate":{})", *rate);
  std::string answer = remote.post("/admin/blobs/migration", fmt::format(R"({{"to":"{}"{}}})", options.to, at));
  if (options.wait) answer = wait_for(remote, answer, "both");
  return show(options, answer);
}

int blobs_finish(const BlobsOptions& options) {
  Remote remote(options.remote);
  std::string answer = remote.post("/admin/blobs/migration/finish", {});
  if (options.wait) answer = wait_for(remote, answer, "finished");
  return show(options, answer);
}

MoveStallDetector::State MoveStallDetector::state_of(const Json& answer, const Json& move) {
  State now{move.text("phase"), move.whole("left_files"), move.whole("copied_files")};
  if (now.phase == "finishing") now.second_copies = over_all_places(answer, "second_copies");
  return now;
}

// Progress of any server: another one than the requested one may copy, and each counts only its own copies. New files
// are no progress.
bool MoveStallDetector::has_moved(const State& now) const {
  return now.phase != state_.phase || now.left_files < state_.left_files || now.copied_files > state_.copied_files ||
         now.second_copies < state_.second_copies;
}

std::string MoveStallDetector::observe(const Json& answer, std::chrono::steady_clock::time_point now) {
  const Json* move = migration_of(answer);
  if (!move) return {};
  const State seen = state_of(answer, *move);
  const std::int64_t failures = move->whole("failures");
  if (!moved_at_ || has_moved(seen)) {
    moved_at_ = now;
    failures_ = failures;
  }
  state_ = seen;
  reason_to_stop_ = stall_reason(*move, now - *moved_at_);
  const std::string held_up = move->text("held_up");
  const std::string reason = held_up.empty() ? move->text("last_failure") : held_up;
  if (reason.empty() || reason == reported_) return {};
  reported_ = reason;
  return held_up.empty() ? "an attempt failed and is repeated: " + reason : "left to other servers: " + reason;
}

std::string MoveStallDetector::stall_reason(const Json& move, std::chrono::steady_clock::duration still) const {
  const std::string copied_by = move.text("copied_by");
  if (copied_by != "another_server" && move.whole("failures") > failures_) {
    if (still < limit_) return {};
    return fmt::format(
        "for a minute every attempt has failed, the last one because: {}. The server goes on trying; see: restante "
        "blobs status",
        move.text("last_failure"));
  }
  // A server of an older version does not answer who copies.
  if (!move.find("copied_by") || copied_by == "this_server") return {};
  // The rate limit waits after each file, which is read twice.
  const std::int64_t rate = move.whole("rate");
  const std::chrono::seconds paced(rate == 0 ? 0 : 2 * kMaxFileBytes / rate);
  if (still < 5 * limit_ + paced) return {};
  const std::string held_up = move.text("held_up");
  return fmt::format(
      "for {} s nothing has moved{}. Look into the logs of the other servers (blob_not_moved, blob_move_held_up); "
      "they go on trying. See: restante blobs status",
      std::chrono::duration_cast<std::chrono::seconds>(still).count(),
      held_up.empty() ? "; the server that was asked is not the one that copies" : ": " + held_up);
}

std::optional<std::int64_t> parse_rate(std::string_view text) {
  if (text.empty()) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  std::string unit;
  for (const char* at = end; at != text.data() + text.size(); ++at) {
    if (*at != ' ') unit.push_back(static_cast<char>(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at));
  }
  if (unit.ends_with("/s")) unit.resize(unit.size() - 2);
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                            {"b", 1},
                                                            {"k", 1e3},
                                                            {"kb", 1e3},
                                                            {"m", 1e6},
                                                            {"mb", 1e6},
                                                            {"g", 1e9},
                                                            {"gb", 1e9},
                                                            {"kib", 1024},
                                                            {"mib", 1024.0 * 1024},
                                                            {"gib", 1024.0 * 1024 * 1024}};
  for (const auto& [name, factor] : kUnits) {
    if (unit != name || !(value * factor < 9e15)) continue;    // also false for NaN
    if (value > 0 && value * factor < 1) return std::nullopt;  // it would become 0, which means no limit
    return static_cast<std::int64_t>(value * factor);
  }
  return std::nullopt;
}

std::string format_blobs(const Json& answer, Colours with) {
  std::string text = format_places(answer, with);
  if (const Json* move = migration_of(answer)) text += '\n' + format_move(*move);
  const std::string setting = answer.text("setting");
  const std::string writes = answer.text("writes_to");
  const Json* move = migration_of(answer);
  if (setting != writes && move && move->text("phase") == "finished") {
    text += fmt::format("The setting is still blobs = \"{}\": set it to \"{}\".\n", setting, writes);
  }
  return text;
}

}  // namespace restante::cli
