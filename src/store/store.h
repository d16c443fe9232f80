// Store: the interface to the database, composed of one part for each noun. These headers are the contract; backends
// add no promises. Whoever needs one part asks for that part only.
//
// One method, called a verb in this project, is one transaction. No transaction handle is part of the interface: a rule
// that spans two tables (an upload row and its inbox row) is a single method here, so it cannot be half done. Time is
// an argument, so that tests control the clock. Thread-safe. Reads block. Writes return a Commit<T>, which has its
// value once its group of writes is durable: tests take() it, src/net awaits it. Throws Unavailable (reads at once,
// writes through the Commit) when the backend cannot be reached.
//
// A server may run on a schema that ends before the tables of uploads: see UploadStore::uploads_ready().
//
// Five writes take a claim as their last argument (model/idempotency.h): it is committed with the write.
#pragma once
#include <string>

#include "base/error.h"
#include "store/blob_admin.h"
#include "store/claims.h"
#include "store/delegations.h"
#include "store/inbox.h"
#include "store/installation.h"
#include "store/tokens.h"
#include "store/uploads.h"
#include "store/workspaces.h"

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
              public ClaimStore {
 public:
  // Runs a query that succeeds only when the backend works. Throws Unavailable.
  virtual void check() = 0;
  virtual StoreFacts describe() = 0;
  // Throws Unavailable when !uploads_ready().
  void require_uploads() const {
    if (!uploads_ready()) throw Unavailable("the tables of uploads are not there yet: run `restante migrate up`");
  }
};

}  // namespace restante
