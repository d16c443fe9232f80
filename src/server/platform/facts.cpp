#include "server/platform/facts.h"

#include <fmt/format.h>

#include <filesystem>

#include "server/places/places.h"
#include "server/settings/settings.h"

namespace restante {
namespace {

constexpr std::string_view kMasked = "********";

// The reason of a failure, as in the log.
std::string failure_of(const std::function<void()>& check) {
  try {
    check();
    return {};
  } catch (const std::exception& e) {
    return *e.what() ? e.what() : "it failed without a reason";
  }
}

std::string printed(const Config& config, std::string_view key) {
  std::string value = find_setting(key)->print(config);
  if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

}  // namespace

std::vector<api::EffectiveSetting> effective_settings(const Config& config) {
  std::vector<api::EffectiveSetting> all;
  for (const Setting& setting : settings()) {
    const auto origin = config.origins.find(setting.key);
    const bool given = origin != config.origins.end();
    std::string value = setting.secret ? std::string(given ? kMasked : "") : setting.print(config);
    all.push_back({setting.key, std::move(value), given ? origin->second : std::string(), setting.help});
  }
  return all;
}

api::StoreState state_of_rows(const Config& config, Store& store) {
  api::StoreState state;
  state.name = "database";
  state.place =
      is_shared(config) ? printed(config, "database") : std::filesystem::absolute(database_file(config)).string();
  state.kind = is_shared(config) ? "PostgreSQL" : "SQLite";
  state.error = failure_of([&] {
    const StoreFacts facts = store.describe();
    state.kind = facts.engine;
    state.detail = fmt::format("{} {}, schema {} ({})", facts.engine, facts.version, facts.schema, facts.schema_name);
    store.check();
  });
  return state;
}

api::StoreState state_of_blobs(const Config& config, const PlacePlan& plan, const std::function<void()>& check,
                               std::string trouble) {
  api::StoreState state;
  state.name = "blobs";
  state.kind = kind_of_blobs(plan.write);
  state.place = place_of_blobs(config, plan.write);
  if (plan.also) {
    state.detail = fmt::format("also as {} in {}, until the blob move is finished", kind_of_blobs(*plan.also),
                               place_of_blobs(config, *plan.also));
  }
  state.error = failure_of(check);
  if (state.error.empty()) state.error = std::move(trouble);
  return state;
}

}  // namespace restante
