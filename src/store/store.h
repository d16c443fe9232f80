// Store: the interface to the database, composed of one part for each noun. These headers are the contract; backends
// add no promises. Whoever needs one part asks for that part only.
//
// One method, called a verb in this project, is one transaction. No transaction handle is part of the interface: a rule
// that spans two tables (an upload row and its inbox row) is a single method here, so it cannot be half done. Time is
// an argument, so that tests control the clock. Thread-safe. Reads block. Writes return a Commit<T>, which has its
// value once its group of writes is durable: tests take() it, src/net awaits it. Throws Unavailable (reads at once,
// writes through the Commit) when the backend cannot be reached; a write OutcomeUnknown when it failed in the act of
// committing.
//
// A server may run on a schema that ends before the tables of uploads: see UploadStore::uploads_ready().
//
// Five writes take a claim as their last argument (model/idempotency.h): it is committed with the write.
#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "store/blob_admin.h"
#include "store/claims.h"
#include "store/delegations.h"
#include "store/inbox.h"
#include "store/installation.h"
#include "store/server_clock.h"
#include "store/tokens.h"
#include "store/uploads.h"
#include "store/workspaces.h"
#include "store/writer_progress.h"

namespace restante {

// Which database is used, for the operator.
struct StoreFacts {
  std::string engine;         // "SQLite", "PostgreSQL"
  std::string version;        // the engine's own version text
  int schema = 0;             // number of the newest applied migration
  std::string schema_name{};  // its name
};

class Store : public WorkspaceStore,
              public TokenStore,
              public InboxStore,
              public UploadStore,
              public DelegationStore,
              public BlobAdminStore,
              public InstallationStore,
              public ClockStore,
              public ClaimStore {
 public:
  // Finds out what a write would meet: reads the schema and commits a small write on every way that writes take. Blocks
  // for some seconds at most. Throws Unavailable, or StorageFull.
  virtual void check() = 0;
  virtual StoreFacts describe() = 0;
  // Of every thread that writes, always in the same order. Does not wait for them.
  virtual std::vector<WriterProgress> writers() = 0;
  // Throws Unavailable when !uploads_ready().
  void require_uploads() const {
    if (!uploads_ready()) throw Unavailable("the tables of uploads are not there yet: run `restante migrate up`");
  }
};

}  // namespace restante
