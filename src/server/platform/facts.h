// Facts: what the operator can read about this server: versions, stores, effective settings. The only filter between
// the configuration and an answer: a secret is named, its value is never in it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/context.h"
#include "server/config/config.h"
#include "store/places.h"
#include "store/store.h"

namespace restante {

// Every setting in the order of the list; eight stars for a secret that is set.
std::vector<api::EffectiveSetting> effective_settings(const Config& config);

// The state of the database and its kind. Never throws: a failure is in the state.
api::StoreState state_of_rows(const Config& config, Store& store);
// The state of the places that the plan uses; `trouble` is a recent failure although the check succeeds.
api::StoreState state_of_blobs(const Config& config, const PlacePlan& plan, const std::function<void()>& check,
                               std::string trouble = {});

}  // namespace restante
