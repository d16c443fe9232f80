#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "cli/blobs/blobs.h"
#include "cli/format.h"
#include "cli/remote/remote.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

constexpr auto kAskEvery = std::chrono::milliseconds(250);
constexpr const char* kTarget = "/admin/blobs/check";

// "1 file", "2 files".
std::string count(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string wait_for_end(Remote& remote, std::string answer) {
  Json report = parse_answer(answer);
  Progress progress(report.whole("all_files"), ProgressUnit::files);
  std::uint64_t seen = report.whole("files");
  progress.add(seen);
  while (report.text("state") == "running") {
    std::this_thread::sleep_for(kAskEvery);
    answer = remote.get(kTarget);
    report = parse_answer(answer);
    const std::uint64_t now = report.whole("files");
    progress.add(now - std::min(seen, now));
    seen = now;
  }
  return answer;
}

Cell fault_of(const Json& finding) {
  const std::string fault = finding.text("fault");
  if (fault == "orphan") return {"belongs to no file", Paint::warn};
  if (fault == "out_of_reach") return {"out of reach", Paint::bad};
  return {fault, Paint::bad};
}

Cell remedy_of(const Json& finding) {
  const std::string remedy = finding.text("remedy");
  if (remedy == "restored") return {"copied again", Paint::good};
  if (remedy == "dropped") return {"dropped", Paint::good};
  if (remedy == "told") return {"marked as damaged, sender notified", Paint::good};
  return {finding.text("reason").empty() ? "-" : finding.text("reason"), Paint::faint};
}

std::string file_of(const Json& finding) {
  const std::string name = finding.text(finding.text("file_id").empty() ? "blob" : "name");
  return name.empty() ? "-" : name;
}

std::string format_findings(const Json& answer, Colours colours) {
  std::vector<TableRow> rows;
  for (const Json& one : answer.items("findings")) {
    const bool known = !one.text("file_id").empty();
    rows.push_back({fault_of(one),
                    {one.text("place").empty() ? "in the database" : one.text("place")},
                    {file_of(one)},
                    {known ? format_bytes(one.whole("size")) : "-"},
                    {known ? workspace_of(one) : "-"},
                    remedy_of(one),
                    {one.text("file_id")}});
  }
  if (rows.empty()) return {};
  return format_table({"FAULT", "PLACE", "FILE", "SIZE", "FOR", "DONE", "ID"}, rows, colours) + '\n';
}

std::string format_sums(const Json& answer) {
  const Json* found = answer.find("found");
  std::string sums = fmt::format("Looked at {} and read {}.\n", count(answer.whole("files"), "file", "files"),
                                 format_bytes(answer.whole("bytes")));
  if (!found) return sums;
  const auto of = [found](std::string_view fault) { return found->whole(fault); };
  const auto add = [&sums](std::uint64_t number, std::string_view one, std::string_view many) {
    if (number > 0) sums += "  " + count(number, one, many) + '\n';
  };
  add(of("missing"), "copy is missing", "copies are missing");
  add(of("changed"), "copy has other content than was sent", "copies have other content than was sent");
  add(of("unreadable"), "copy could not be read", "copies could not be read");
  add(of("orphan"), "blob belongs to no file", "blobs belong to no file");
  add(of("unfinished"), "upload was begun and never finished", "uploads were begun and never finished");
  add(of("out_of_reach"), "place was not looked through", "places were not looked through");
  return sums;
}

std::string conclusion(const Json& answer) {
  if (answer.text("state") != "done") return "That is not all: the check did not finish.\n";
  const std::uint64_t wrong = answer.whole("wrong");
  const std::uint64_t mended = answer.whole("mended");
  if (wrong == 0)
    return mended == 0 ? "All is well.\n" : "Everything is repaired, or the senders have been notified.\n";
  if (answer.flag("fix"))
    return fmt::format("{} could not be repaired; the server's log has the reasons.\n",
                       count(wrong, "fault", "faults"));
  return fmt::format("{} left as {}. Repair with: restante blobs check --fix\n",
                     count(wrong, "fault was", "faults were"), wrong == 1 ? "it is" : "they are");
}

std::string interruption(const Json& answer) {
  return fmt::format("the server that ran the check has stopped, {} of {} were checked; start the check again",
                     answer.whole("files"), count(answer.whole("all_files"), "file", "files"));
}

// The answer of the running check, if it does what is asked for; otherwise that of a new one, after it.
std::string run(Remote& remote, bool fix) {
  std::string answer = remote.get(kTarget);
  if (const Json other = parse_answer(answer); other.text("state") == "running") {
    warn(
        fmt::format("a check{} is already running; this shows its progress", other.flag("fix") ? " that repairs" : ""));
    answer = wait_for_end(remote, answer);
    if (other.flag("fix") || !fix) return answer;
  }
  return wait_for_end(remote, remote.post(kTarget, fix ? R"({"fix":true})" : R"({"fix":false})"));
}

}  // namespace

int blobs_check(const BlobsOptions& options) {
  Remote remote(options.remote);
  const std::string answer = run(remote, options.fix);
  const Json report = parse_answer(answer);
  const int printed = print(options.remote.json ? answer + '\n' : format_blob_check(report, colours()));
  if (printed != kExitOk) return printed;
  const std::string state = report.text("state");
  if (state == "stopped") throw CommandFailed(kExitTryAgain, "the server was stopped before the check was done");
  if (state == "interrupted") throw CommandFailed(kExitTryAgain, interruption(report));
  if (state != "done") throw CommandFailed(kExitUnavailable, "the check was given up: " + report.text("reason"));
  return report.whole("wrong") == 0 ? kExitOk : kExitFailed;
}

std::string format_blob_check(const Json& answer, Colours colours) {
  return format_findings(answer, colours) + format_sums(answer) + conclusion(answer);
}

}  // namespace restante::cli
