// Facts: what the operator is told about this server: versions, stores, effective settings. The only filter between the
// configuration and an answer: a secret is named, its value never leaves.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/context.h"
#include "server/config.h"
#include "store/places.h"
#include "store/store.h"

namespace restante {

// Every setting in the order of the list; of a secret that is set, eight stars.
std::vector<api::EffectiveSetting> effective_settings(const Config& config);

// How the rows are and what keeps them. Never throws: what fails is in the state.
api::StoreState state_of_rows(const Config& config, Store& store);
// How the bytes are, where the plan puts them; `trouble` is what failed lately although the check succeeds.
api::StoreState state_of_blobs(const Config& config, const PlacePlan& plan, const std::function<void()>& check,
                               std::string trouble = {});

}  // namespace restante
