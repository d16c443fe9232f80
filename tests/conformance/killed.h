// Killed: a piece of work in a child process that dies by SIGKILL as it is about to run its n-th statement on a
// database, whichever of its threads that is. What it has sent to PostgreSQL by then is on its way; what SQLite has
// written is written. For tests/conformance only.
#pragma once
#include <functional>
#include <memory>

#include "store/store.h"

namespace restante::testing {

enum class Fate { killed, finished, failed };

// Opens a store by `open` and does `work` with it; statements count from the moment it is open. The parent must hold no
// store on the data meanwhile.
Fate kill_at_statement(int number, const std::function<std::unique_ptr<Store>()>& open,
                       const std::function<void(Store&)>& work);

}  // namespace restante::testing
