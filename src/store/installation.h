// InstallationStore: who owns the places outside of the database.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <optional>

#include "base/commit.h"
#include "base/error.h"
#include "model/owner.h"

namespace restante {

class InstallationStore {
 public:
  virtual ~InstallationStore() = default;

  // None before the first server has started on the database.
  virtual std::optional<Installation> find_installation() = 0;
  // Called when a server starts with this setting. Creates the installation with the id `fresh` if there is none, and
  // stores the setting. Returns the installation as it was before, with the setting of the previous start; on the first
  // start with its own.
  virtual Commit<Result<Installation>> ensure_installation(InstallationId fresh, Place setting) = 0;
  // Sets the mark that is expected in a place from now on. False when the stored one is not `was` any more.
  virtual Commit<Result<bool>> record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) = 0;
  // Deletes the installation and its marks: the next server that starts creates a new one.
  virtual Commit<Result<void>> reset_installation() = 0;
};

}  // namespace restante
