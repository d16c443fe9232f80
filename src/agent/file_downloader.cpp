#include "agent/file_downloader.h"

#include <fmt/format.h>

#include "base/text.h"

namespace restante::agent {
namespace {

using client::Failure;

constexpr int kAttempts = 4;  // in a row, each from where the last one broke off; then the file is queued again

// True when a 206 begins at the requested offset: "bytes 100-199/200".
bool begins_at(const client::Response& head, std::uint64_t offset) {
  const auto* range = head.find("Content-Range");
  return range && range->starts_with(fmt::format("bytes {}-", offset));
}

}  // namespace

FileDownloader::Fetched FileDownloader::fetch(const AnnouncedFile& announced, Partial& partial, std::string& why) {
  const auto offset = partial.size();
  bool begun = false;
  std::optional<Fetched> ended;
  const auto sink = [&](const client::Response& head, std::string_view bytes) {
    if (!begun && offset > 0) {
      const bool restart = head.status != 206;
      if (!restart && !begins_at(head, offset))
        return ended = Fetched::wrong, why = "the server sent another range", false;
      if (const auto again = restart ? partial.restart() : DiskResult<void>(); again.has_error()) {
        return ended = Fetched::trouble, why = again.error().sentence, false;
      }
    }
    begun = true;
    if (partial.size() + bytes.size() > announced.size)
      return ended = Fetched::wrong, why = "the file is larger than announced", false;
    if (const auto written = partial.append(bytes); written.has_error()) {
      return ended = Fetched::trouble, why = written.error().sentence, false;
    }
    return true;
  };
  const auto answer = api_.fetch(announced.id, offset, sink);
  if (ended) return *ended;
  if (answer.has_value()) return Fetched::whole;
  const auto failure = answer.error();
  why = failure.sentence;
  if (failure.is_status(404)) return Fetched::gone;
  if (failure.is_status(416)) {
    return partial.restart().has_value() ? Fetched::again : Fetched::trouble;
  }
  if (failure.code == "integrity_error" || failure.code == "content_missing") return Fetched::wrong;
  return failure.kind == Failure::Kind::cut && partial.size() > offset ? Fetched::again : Fetched::later;
}

FileDownloader::DownloadResult FileDownloader::attempt(FileRecord& record, std::string& why) {
  const auto& announced = record.announced;
  bool mismatched = false;
  for (int i = 0; i < kAttempts; ++i) {
    auto partial = landing_.begin(announced);
    if (partial.has_error()) return why = partial.error().sentence, DownloadResult::trouble;
    const auto fetched = partial->size() == announced.size ? Fetched::whole : fetch(announced, *partial, why);
    if (fetched == Fetched::gone) return DownloadResult::gone;
    if (fetched == Fetched::later) return DownloadResult::later;
    if (fetched == Fetched::trouble) return DownloadResult::trouble;
    if (fetched == Fetched::wrong) return DownloadResult::wrong;
    if (fetched == Fetched::again) continue;
    const auto landed = landing_.finish(std::move(*partial), announced);
    if (landed.has_error()) return why = landed.error().sentence, DownloadResult::trouble;
    if (*landed) return record.path = **landed, DownloadResult::landed;
    why = "the content is not what was announced (size or sha256)";
    if (std::exchange(mismatched, true))
      return DownloadResult::wrong;  // the first mismatch may be a rest of an earlier attempt
  }
  return mismatched ? DownloadResult::wrong : DownloadResult::later;
}

FileDownloader::DownloadResult FileDownloader::download(FileRecord& record) {
  std::string why;
  const auto found = landing_.find(record.announced);
  if (found.has_error()) why = found.error().sentence;
  if (found.has_value() && *found) record.path = **found;
  const bool too_large = largest_ > 0 && record.announced.size > largest_;
  if (too_large) why = fmt::format("the file is larger than the server's own limit of {} bytes", largest_);
  const auto result = found.has_error() ? DownloadResult::trouble
                      : *found          ? DownloadResult::landed
                      : too_large       ? DownloadResult::wrong
                                        : attempt(record, why);
  record.reason = result == DownloadResult::landed ? std::string() : why;
  if (result == DownloadResult::gone || result == DownloadResult::wrong) landing_.discard(record.announced);
  switch (result) {
    case DownloadResult::landed:
      record.where = FileRecord::Where::landed;
      record.trouble.clear();
      break;
    case DownloadResult::gone: {
      const auto state = api_.state_of(record.announced.id);
      record.where = FileRecord::Where::gone;
      record.trouble = state.has_value() && (*state == "expired" || *state == "recalled") ? *state : "gone";
      break;
    }
    case DownloadResult::later:
      record.trouble = "missing";
      break;
    case DownloadResult::trouble:
    case DownloadResult::wrong:
      record.trouble = "failed";
      break;
  }
  return result;
}

}  // namespace restante::agent
