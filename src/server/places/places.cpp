#include "server/places/places.h"

#include <fmt/format.h>

#include "base/names.h"
#include "server/config/s3.h"
#include "store/dir/blobs.h"
#include "store/inline/blobs.h"
#include "store/postgres/store.h"
#include "store/sqlite/store.h"

namespace restante {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Store> open_embedded(const Config& config, const Clock& clock, Metrics& metrics) {
  sqlite::Options options;
  options.now = clock.now();
  options.migrate = config.migrate;
  options.metrics = &metrics;
  // An operator's token without a database: the database was lost, it is not a first start.
  options.may_create = !fs::exists(fs::path(config.data) / "admin.token");
  return sqlite::open(database_file(config), options);
}

std::unique_ptr<Store> open_shared(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                   Announcements& announcements, const ShutdownDeadline& shutdown_deadline) {
  postgres::Options options;
  options.migrate = config.migrate;
  options.lanes = config.postgres.lanes;
  options.readers = config.postgres.readers;
  options.connect_timeout = config.postgres.connect_timeout;
  options.statement_timeout = config.postgres.statement_timeout;
  options.metrics = &metrics;
  options.announcements = &announcements;
  options.clock = &clock;
  options.shutdown_deadline = &shutdown_deadline;
  return postgres::open(config.database, options);
}

fs::path files_of(const Config& config) { return fs::path(config.data) / "blobs"; }

// A single server may always store files; of several servers each has a separate directory unless they share one on
// purpose.
bool wants_dir(const Config& config) {
  return config.blobs == "dir" || !is_shared(config) || fs::is_directory(files_of(config));
}

std::unique_ptr<s3::Blobs> open_s3(const Config& config, const Clock& clock, Log& log, Metrics& metrics) {
  const auto& given = config.s3;
  s3::Options options;
  options.service.endpoint = client::parse_url(given.endpoint).value();
  options.service.bucket = given.bucket;
  options.service.region = given.region;
  options.service.addressing =
      given.addressing == Config::Addressing::path ? s3::Addressing::path : s3::Addressing::virtual_host;
  options.service.http.ca_file = given.ca_file;
  options.service.patience = given.patience;
  options.service.http.connect_patience = std::min(options.service.http.connect_patience, given.patience);
  options.service.attempts = static_cast<int>(given.attempts);
  options.credentials = s3_credentials(config);
  options.prefix = given.prefix;
  return std::make_unique<s3::Blobs>(std::move(options), clock, log, metrics);
}

}  // namespace

std::unique_ptr<Store> open_store(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                  Announcements& announcements, const ShutdownDeadline& shutdown_deadline) {
  return is_shared(config) ? open_shared(config, clock, metrics, announcements, shutdown_deadline)
                           : open_embedded(config, clock, metrics);
}

OpenPlaces::OpenPlaces(const Config& config, Store& store, const Clock& clock, Log& log, Metrics& metrics) {
  if (wants_dir(config)) dir_ = dir::open(files_of(config), dir::TemporaryNames::unnamed_if_possible, clock);
  inline_ = inlined::open(store.chunks(), clock);
  if (has_bucket(config)) s3_ = open_s3(config, clock, log, metrics);
}

Places::ByPlace OpenPlaces::by_place() const {
  Places::ByPlace all;
  if (dir_) all.emplace(Place::dir, *dir_);
  all.emplace(Place::inlined, *inline_);
  if (s3_) all.emplace(Place::s3, *s3_);
  return all;
}

void OpenPlaces::cancel() {
  if (s3_) s3_->cancel();
}

PlacePlan plan_of(const Config& config) { return {parse_place(config.blobs).value(), {}}; }

OwnerRules owner_rules(const Config& config) {
  OwnerRules rules;
  rules.setting = plan_of(config).write;
  rules.alone = !is_shared(config);
  for (const Place place : kPlaces) rules.place_names[place] = place_of_blobs(config, place);
  return rules;
}

bool writes_to(const PlacePlan& plan, Place place) { return plan.write == place || plan.also == place; }

std::string OpenPlaces::trouble(const PlacePlan& plan) const {
  return s3_ && writes_to(plan, Place::s3) ? s3_->trouble() : std::string();
}

std::string kind_of_blobs(Place place) {
  static constexpr Names<Place, Place::s3> kKinds{"files", "database content", "S3"};
  return std::string(kKinds.of(place));
}

std::string place_of_blobs(const Config& config, Place place) {
  if (place == Place::dir) return fs::absolute(files_of(config)).string();
  if (place == Place::s3) return fmt::format("{}/{}/{}", config.s3.endpoint, config.s3.bucket, config.s3.prefix);
  return "the database";
}

std::vector<fs::path> written_directories(const Config& config, const PlacePlan& plan) {
  std::vector<fs::path> all;
  if (writes_to(plan, Place::dir)) all.emplace_back(config.data);
  // The free space of a disk of another machine is not known.
  if (!is_shared(config)) all.push_back(database_file(config).parent_path());
  return all;
}

}  // namespace restante
