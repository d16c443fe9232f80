#include "store/owner.h"

#include <fmt/format.h>

#include <utility>

#include "store/blob_key.h"
#include "store/migration.h"

namespace restante {
namespace {

using std::chrono::steady_clock;

constexpr auto kCheckLasts = std::chrono::seconds(5);
// Enough to find blobs of another installation among ours; the first page of a listing, which has the oldest.
constexpr std::size_t kSample = 500;

bool is_outside(Place place) { return place != Place::inlined; }

std::optional<OwnerMark> expected_in(const Installation& installation, Place place) {
  const auto found = installation.marks.find(place);
  return found == installation.marks.end() ? std::nullopt : std::optional(found->second);
}

constexpr const char* kForeign =
    "belongs to another installation: nothing is written or deleted there. Give this installation a separate place "
    "({own}); if this database has replaced the other one, which must not run any more: restante blobs adopt --force";
constexpr const char* kAnother =
    "has a mark of this installation but is not the one that its other servers use: set the same on all servers "
    "({own}), or, if this place is the right one from now on: restante blobs adopt";
constexpr const char* kUnmarked =
    "has lost its mark (restante-owner): it was emptied, is not mounted, or is not the one that the other servers of "
    "this installation use. Correct that ({own}); if it is to be used as it is: restante blobs adopt";
constexpr const char* kEmpty =
    "is empty although files of this installation should be there: it is not mounted, or is not the one that its "
    "other servers use. Correct that ({own}); if the files are lost: restante blobs adopt";
constexpr const char* kUnknownFiles =
    "holds files that this database does not know, and has no mark (restante-owner): the files may belong to another "
    "installation. Give this installation a separate place ({own}); if the files belong to no other installation: "
    "restante blobs adopt";
constexpr const char* kUnreadable = "has a mark (restante-owner) that this version cannot read";

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

void Owner::require_not_known_foreign(Place place) const {
  const std::lock_guard lock(mutex_);
  const auto last = results_.find(place);
  if (last == results_.end() || last->second.ownership.kind != Ownership::Kind::not_ours) return;
  throw Unavailable(last->second.ownership.reason);
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
    const std::lock_guard lock(mutex_);
    const auto last = results_.find(place);
    if (last == results_.end() || last->second.began < since) return std::nullopt;
    return last->second.ownership;
  };
  if (auto known = recent()) return *known;
  const std::lock_guard check_lock(checking_.at(place));
  if (auto known = recent()) return *known;
  CheckResult now{steady_clock::now(), {}};
  try {
    now.ownership = check(place);
  } catch (const Unavailable& e) {
    now.ownership = {Ownership::Kind::unknown, sentence(place, "could not be checked for its owner: ") + e.what()};
  }
  Ownership before{Ownership::Kind::ours};
  {
    const std::lock_guard lock(mutex_);
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
  auto installation = store_.find_installation();
  if (!installation) {
    ensure_installation();  // the start could not write it
    installation = store_.find_installation();
  }
  if (!installation) throw Unavailable("no server has started on the database yet");
  const auto text = places_.at(place).get().mark();
  if (!text) return check_unmarked(place, *installation);
  const auto found = parse_owner_mark(*text);
  if (!found) return {Ownership::Kind::not_ours, sentence(place, kUnreadable)};
  return check_marked(place, *installation, *found);
}

Owner::Ownership Owner::check_marked(Place place, const Installation& installation, const OwnerMark& found) {
  const auto expected = expected_in(installation, place);
  // True after a database move: the expected mark is still that of the installation before the move.
  const bool from_move = expected && expected->installation != installation.id;
  if (expected == found) {
    // This is the first of the two databases of a move on which a server starts: it becomes the owner, and the other
    // one finds a foreign mark. Only the installation in the mark changes, so that several servers which start on a
    // moved database all write the same mark.
    return from_move ? put_mark(place, installation, {installation.id, found.mark}, Blobs::MarkMode::anyway)
                     : Ownership{Ownership::Kind::ours};
  }
  if (found.installation != installation.id) return {Ownership::Kind::not_ours, sentence(place, kForeign)};
  // Another server of this installation has just taken over the mark, or was killed before it recorded that.
  if (from_move && found.mark == expected->mark) return record_mark_of(place, installation, found);
  // Either a server was killed between writing the mark and recording it; or a server marked this place before the move
  // filled its database, and the blobs of the moved rows are in another place.
  if (from_move && is_needed(place) && content_of(place) == Content::nothing)
    return {Ownership::Kind::not_ours, sentence(place, kEmpty)};
  if (!expected || from_move) return record_mark_of(place, installation, found);
  // A single server has no other place to confuse this one with: a prefix was changed and changed back, or the database
  // is an older copy.
  if (rules_.alone && (!is_needed(place) || content_of(place) == Content::ours))
    return record_mark_of(place, installation, found);
  return {Ownership::Kind::not_ours, sentence(place, kAnother)};
}

Owner::Ownership Owner::check_unmarked(Place place, const Installation& installation) {
  const auto expected = expected_in(installation, place);
  const bool marked_by_us = expected && expected->installation == installation.id;
  // Another server may have marked another directory or bucket; a single server has no other.
  if (marked_by_us && !rules_.alone) return {Ownership::Kind::not_ours, sentence(place, kUnmarked)};
  switch (content_of(place)) {
    case Content::unknown: {
      // Another server may have marked it meanwhile, and filled it.
      const auto text = places_.at(place).get().mark();
      const auto found = text ? parse_owner_mark(*text) : std::nullopt;
      return found ? check_marked(place, installation, *found)
                   : Ownership{Ownership::Kind::not_ours, sentence(place, kUnknownFiles)};
    }
    case Content::nothing:
      if (is_needed(place)) return {Ownership::Kind::not_ours, sentence(place, marked_by_us ? kUnmarked : kEmpty)};
      break;
    case Content::ours:
      break;
  }
  return put_mark(place, installation, fresh_mark(installation), Blobs::MarkMode::if_there_is_none);
}

OwnerMark Owner::fresh_mark(const Installation& installation) const {
  return {installation.id, MarkId::make(clock_.now())};
}

Owner::Ownership Owner::put_mark(Place place, const Installation& installation, const OwnerMark& mark,
                                 Blobs::MarkMode how) {
  Blobs& blobs = places_.at(place);
  blobs.put_mark(text_of(mark), how);
  const auto text = blobs.mark();
  const auto found = text ? parse_owner_mark(*text) : std::nullopt;
  if (!found) throw Unavailable("the mark that was just written cannot be found");
  if (found->installation != installation.id) return {Ownership::Kind::not_ours, sentence(place, kForeign)};
  log_.info("place_marked", {{"place", name_of(place)}, {"office", installation.id.text()}});
  return record_mark_of(place, installation, *found);
}

// When another server was faster, the mark that it recorded must be this one.
Owner::Ownership Owner::record_mark_of(Place place, const Installation& installation, const OwnerMark& found) {
  if (store_.record_mark(place, expected_in(installation, place), found).take().value()) return {Ownership::Kind::ours};
  const auto now = store_.find_installation();
  if (now && expected_in(*now, place) == found) return {Ownership::Kind::ours};
  return {Ownership::Kind::not_ours, sentence(place, kAnother)};
}

// A blob that a row names is ours. A blob that no row names is an orphan, of which there are few, or belongs to another
// installation; unless it is so young that its row may not be written yet, or is the trial blob of another server that
// starts. Only one server uses the directory beside a SQLite database, so no other installation has blobs there.
Owner::Content Owner::content_of(Place place) {
  const Time old = clock_.now() - std::chrono::duration_cast<std::chrono::microseconds>(rules_.grace);
  std::vector<std::string> sample;
  BlobPage page;
  do {
    page = places_.at(place).get().list(page.next, Time::max());
    for (const std::string& bare : page.keys) {
      if (!is_trial_blob_key(bare)) sample.push_back(key_in(place, bare));
    }
  } while (!page.next.empty() && sample.size() < kSample);
  if (sample.empty()) return Content::nothing;
  const auto known = store_.known_blobs(sample);
  if (known.empty()) return place == Place::dir && rules_.alone ? Content::nothing : Content::unknown;
  auto next_known = known.begin();
  std::size_t old_unknown = 0;
  for (const std::string& key : sample) {
    if (next_known != known.end() && *next_known == key) {
      ++next_known;
    } else if (time_of_blob_key(parse_key(key)->bare) < old) {
      ++old_unknown;
    }
  }
  return old_unknown > known.size() ? Content::unknown : Content::ours;
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
  const bool foreign =
      text && (!found || found->installation != installation->id) && expected_in(*installation, place) != found;
  if (foreign && force == Force::no) throw OpenRefused(sentence(place, found ? kForeign : kUnreadable));
  const Ownership now = put_mark(place, *installation, fresh_mark(*installation), Blobs::MarkMode::anyway);
  if (now.kind != Ownership::Kind::ours) throw OpenRefused(now.reason);
}

std::string Owner::sentence(Place place, const char* what) const {
  const auto name = rules_.place_names.find(place);
  std::string text = name == rules_.place_names.end() ? std::string(name_of(place)) : name->second;
  text += ' ';
  text += what;
  constexpr std::string_view kOwn = "{own}";
  if (const auto at = text.find(kOwn); at != std::string::npos)
    text.replace(at, kOwn.size(), place == Place::s3 ? "s3.bucket and s3.prefix" : "data");
  // Sentences that name the command end with it.
  if (text.find("restante blobs adopt") != std::string::npos) text += fmt::format(" --place {}", name_of(place));
  return text;
}

}  // namespace restante
