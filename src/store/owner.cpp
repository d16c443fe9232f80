#include "store/owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/blob_key.h"
#include "store/migration.h"

namespace restante {
namespace {

using std::chrono::steady_clock;

constexpr auto kCheckLasts = std::chrono::seconds(5);

bool is_outside(Place place) { return place != Place::inlined; }

std::optional<OwnerMark> expected_in(const Installation& installation, Place place) {
  const auto found = installation.marks.find(place);
  return found == installation.marks.end() ? std::nullopt : std::optional(found->second);
}

// Why a place is refused. Each sentence says when the place must not be adopted, and ends with the command for the
// other case.
constexpr const char* kForeign =
    "belongs to another installation: nothing is written or deleted there. Give this installation a separate place "
    "({own}). Only if this database has replaced the other one, and no server runs on that one any more, {adopt} "
    "--force";
constexpr const char* kAnother =
    "has a mark of this installation but is not the one that it uses. Set the right one ({own}), the same on all "
    "servers. Only if this is the right one from now on, and no server uses the other one, {adopt}";
constexpr const char* kUnmarked =
    "has no mark (restante-owner) although this installation has used its place before: it was emptied, is not "
    "mounted, or is not the one that was used. Correct that ({own}). Only if it is the right one, and the files that "
    "are missing there are lost, {adopt}";
constexpr const char* kUnknownFiles =
    "has files but no mark (restante-owner): they may belong to another installation. Give this installation a "
    "separate place ({own}). Only if no other installation uses these files, {adopt}";
constexpr const char* kUnreadable =
    "has a mark (restante-owner) that this version cannot read. Use the version that wrote it, or give this "
    "installation a separate place ({own}). Only if no other installation uses this one, {adopt} --force";

}  // namespace

Owner::Owner(Store& store, ByPlace places, const Clock& clock, Log& log, Metrics& metrics, OwnerRules rules)
    : store_(store), places_(std::move(places)), clock_(clock), log_(log), metrics_(metrics), rules_(std::move(rules)) {
  for (const auto& [place, blobs] : places_) {
    checking_[place];
    if (is_outside(place)) metrics_.place_not_ours(name_of(place));
  }
}

void Owner::ensure_installation() {
  const Installation was =
      store_.ensure_installation(InstallationId::make(clock_.now()), rules_.setting).take().value();
  if (was.setting == rules_.setting || rules_.alone) return;
  log_.warn("blobs_set_otherwise",
            {{"sentence", fmt::format("blobs = \"{}\" is set here, but the server that started before had \"{}\": set "
                                      "the same on all of them",
                                      name_of(rules_.setting), name_of(was.setting))}});
  logged_disagreement_ = true;
}

std::string Owner::refusal_reason(Place place) {
  const Ownership now = ownership_of(place, steady_clock::now());
  return now.kind == Ownership::Kind::not_ours ? now.reason : std::string();
}

void Owner::require(Place place) {
  const Ownership recent = ownership_of(place, steady_clock::now() - kCheckLasts);
  if (recent.kind != Ownership::Kind::ours) throw Unavailable(recent.reason);
}

void Owner::require_now(Place place) {
  const Ownership now = ownership_of(place, steady_clock::now());
  if (now.kind != Ownership::Kind::ours) throw Unavailable(now.reason);
}

void Owner::require_writable(Place place) {
  Ownership last{.may_write = false};
  {
    const MutexLock lock(mutex_);
    if (const auto found = results_.find(place); found != results_.end()) last = found->second.ownership;
  }
  if (last.kind == Ownership::Kind::unknown && !last.may_write) last = ownership_of(place, steady_clock::now());
  if (!last.may_write) throw Unavailable(last.reason);
}

void Owner::require_not_foreign(Place place) {
  const Ownership recent = ownership_of(place, steady_clock::now() - kCheckLasts);
  if (recent.kind == Ownership::Kind::not_ours) throw Unavailable(recent.reason);
}

void Owner::recheck(Place place) {
  (void)ownership_of(place, steady_clock::now());
  const std::string sentence = disagreement();
  if (!sentence.empty() && !logged_disagreement_.exchange(true))
    log_.warn("blobs_set_otherwise", {{"sentence", sentence}});
}

std::string Owner::disagreement() {
  try {
    if (rules_.alone || store_.find_blob_move()) return {};
    const auto installation = store_.find_installation();
    if (!installation || installation->setting == rules_.setting) return {};
    return fmt::format("blobs = \"{}\" is set here, but the server that started last has \"{}\": set the same on all",
                       name_of(rules_.setting), name_of(installation->setting));
  } catch (const Unavailable&) {
    return {};
  }
}

Owner::Ownership Owner::ownership_of(Place place, steady_clock::time_point since) {
  if (!is_outside(place) || !places_.contains(place)) return {Ownership::Kind::ours};
  const auto recent = [&]() -> std::optional<Ownership> {
    const MutexLock lock(mutex_);
    const auto last = results_.find(place);
    if (last == results_.end() || last->second.began < since) return std::nullopt;
    return last->second.ownership;
  };
  if (auto known = recent()) return *known;
  const MutexLock check_lock(checking_.at(place));
  if (auto known = recent()) return *known;
  CheckResult now{steady_clock::now(), {}};
  now.ownership = check(place);
  Ownership before{Ownership::Kind::ours};
  {
    const MutexLock lock(mutex_);
    if (const auto last = results_.find(place); last != results_.end()) before = last->second.ownership;
    results_[place] = now;
  }
  report_change(place, before, now.ownership);
  return now.ownership;
}

void Owner::report_change(Place place, const Ownership& before, const Ownership& now) {
  const bool ours = now.kind == Ownership::Kind::ours;
  if (!ours && !is_used(place)) {
    metrics_.place_not_ours(name_of(place)).Set(0);
    return;
  }
  metrics_.place_not_ours(name_of(place)).Set(ours ? 0 : 1);
  if (now.kind == before.kind) return;
  if (ours) log_.info("place_ours", {{"place", name_of(place)}});
  if (now.kind == Ownership::Kind::not_ours)
    log_.error("place_not_ours", {{"place", name_of(place)}, {"reason", now.reason}});
  if (now.kind == Ownership::Kind::unknown)
    log_.warn("place_not_asked", {{"place", name_of(place)}, {"reason", now.reason}});
}

Owner::Ownership Owner::check(Place place) {
  bool has_mark = true;
  try {
    auto installation = store_.find_installation();
    if (!installation) {
      ensure_installation();  // the start could not write it
      installation = store_.find_installation();
    }
    if (!installation) throw Unavailable("no server has started on the database yet");
    has_mark = expected_in(*installation, place).has_value();
    const auto text = places_.at(place).get().mark();
    return text ? check_marked(place, *installation, *text) : check_unmarked(place, *installation);
  } catch (const Unavailable& e) {
    return {Ownership::Kind::unknown, sentence(place, "could not be checked for its owner: ") + e.what(), has_mark};
  }
}

Owner::Ownership Owner::check_marked(Place place, const Installation& installation, const std::string& text) {
  const auto found = parse_owner_mark(text);
  if (!found) return refusal(place, kUnreadable);
  if (found->installation != installation.id) return refusal(place, kForeign);
  const auto expected = expected_in(installation, place);
  if (expected == found) return {Ownership::Kind::ours};
  // None is expected if a server was killed between writing this mark and recording it.
  return expected ? refusal(place, kAnother) : record_mark_of(place, installation, *found);
}

Owner::Ownership Owner::check_unmarked(Place place, const Installation& installation) {
  const bool was_used = expected_in(installation, place) || is_needed(place);
  if (!was_used && is_empty(place)) return put_mark(place, installation, Blobs::MarkMode::if_there_is_none);
  // Another server of this installation may have marked the place meanwhile, and filled it.
  if (const auto text = places_.at(place).get().mark()) return check_marked(place, installation, *text);
  return refusal(place, was_used ? kUnmarked : kUnknownFiles);
}

Owner::Ownership Owner::put_mark(Place place, const Installation& installation, Blobs::MarkMode how) {
  Blobs& blobs = places_.at(place);
  blobs.put_mark(text_of({installation.id, MarkId::make(clock_.now())}), how);
  const auto text = blobs.mark();
  const auto found = text ? parse_owner_mark(*text) : std::nullopt;
  if (!found) throw Unavailable("the mark that was just written cannot be found");
  if (found->installation != installation.id) return refusal(place, kForeign);
  log_.info("place_marked", {{"place", name_of(place)}, {"office", installation.id.text()}});
  return record_mark_of(place, installation, *found);
}

// When another server was faster, the mark that it recorded must be this one.
Owner::Ownership Owner::record_mark_of(Place place, const Installation& installation, const OwnerMark& found) {
  if (store_.record_mark(place, expected_in(installation, place), found).take().value()) return {Ownership::Kind::ours};
  const auto now = store_.find_installation();
  if (now && expected_in(*now, place) == found) return {Ownership::Kind::ours};
  return refusal(place, kAnother);
}

// Another server that starts may be writing its trial blob.
bool Owner::is_empty(Place place) {
  BlobPage page;
  do {
    page = places_.at(place).get().list(page.next, Time::max());
    if (!std::ranges::all_of(page.keys, is_trial_blob_key)) return false;
  } while (!page.next.empty());
  return true;
}

// A directory that is no longer used, or a bucket that is set up for later, need not be ours.
bool Owner::is_used(Place place) {
  if (place == rules_.setting) return true;
  try {
    return is_needed(place);
  } catch (const Unavailable&) {
    return true;
  }
}

bool Owner::is_needed(Place place) {
  return !store_.list_blobs(KeyRole::first, place, "", 1).empty() ||
         !store_.list_blobs(KeyRole::twin, place, "", 1).empty();
}

void Owner::adopt(Place place, Force force) {
  if (!is_outside(place)) throw OpenRefused("files in the database need no mark");
  if (!places_.contains(place)) throw OpenRefused(fmt::format("the settings name no place \"{}\"", name_of(place)));
  const auto installation = store_.find_installation();
  if (!installation) throw Unavailable("no server has started on the database yet");
  const auto text = places_.at(place).get().mark();
  const auto found = text ? parse_owner_mark(*text) : std::nullopt;
  const bool foreign = text && (!found || found->installation != installation->id);
  if (foreign && force == Force::no) throw OpenRefused(sentence(place, found ? kForeign : kUnreadable));
  const Ownership now = put_mark(place, *installation, Blobs::MarkMode::anyway);
  if (now.kind != Ownership::Kind::ours) throw OpenRefused(now.reason);
}

Owner::Ownership Owner::refusal(Place place, const char* why) const {
  return {Ownership::Kind::not_ours, sentence(place, why), false};
}

std::string Owner::sentence(Place place, const char* what) const {
  const auto name = rules_.place_names.find(place);
  const std::string own = place == Place::s3 ? "s3.bucket and s3.prefix" : "data";
  const std::string adopt =
      fmt::format("run this with the settings of this server: restante blobs adopt --place {}", name_of(place));
  return fmt::format("{} {}", name == rules_.place_names.end() ? std::string(name_of(place)) : name->second,
                     fmt::format(fmt::runtime(what), fmt::arg("own", own), fmt::arg("adopt", adopt)));
}

}  // namespace restante
