// Inbound secrets: what we show a push workspace's callback, so that it knows who calls. The one secret that must be
// read again, so it is sealed at rest under the server's key. An agent learns it when it registers and beats.
// Thread-safe.
#pragma once
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/seal.h"
#include "store/store.h"

namespace restante::desk {

class InboundSecrets {
 public:
  InboundSecrets(Store& store, const Seal& seal, const Clock& clock, Log& log)
      : store_(store), seal_(seal), clock_(clock), log_(log) {}

  // The workspace's secret: 43 characters. Made when there is none, or when it was sealed under a key that is lost: the
  // agent hears of the new one with its next heartbeat. workspace_not_found.
  Result<std::string> ensure(WorkspaceId workspace);
  // A new one; the old one is shown to nobody any more. workspace_not_found.
  Result<std::string> rotate(WorkspaceId workspace);
  // Empty when there is none that can be read; none is made.
  std::string find(WorkspaceId workspace);

 private:
  Store& store_;
  const Seal& seal_;
  const Clock& clock_;
  Log& log_;
  std::mutex making_;  // two first calls at once must agree on one secret
};

}  // namespace restante::desk
