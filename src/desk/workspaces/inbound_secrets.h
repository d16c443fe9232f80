// InboundSecrets keeps the secrets that the server sends to the callbacks of push workspaces, so that a callback can
// verify the caller. These secrets must be readable again, so they are stored encrypted with the server's key. An agent
// gets its secret when it registers and with every heartbeat. Thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/seal.h"
#include "store/workspaces.h"

namespace restante::desk {

class InboundSecrets {
 public:
  InboundSecrets(WorkspaceStore& store, const Seal& seal, const Clock& clock, Log& log)
      : store_(store), seal_(seal), clock_(clock), log_(log) {}

  // The workspace's secret: 43 characters. A new one is made if there is none, or if the key that sealed it is lost;
  // the agent gets it with its next heartbeat. workspace_not_found.
  Result<std::string> ensure(WorkspaceId workspace);
  // Makes a new secret; the old one is not sent any more. workspace_not_found.
  Result<std::string> rotate(WorkspaceId workspace);
  // Empty if there is none that can be read; makes no new one.
  std::string find(WorkspaceId workspace);
  // A new secret that a registration stores in its own transaction, if the workspace has none that can be read.
  NewInboundSecret prepare(WorkspaceId workspace);
  // The secret in a text that the store returned. Empty for an empty text, and for one that cannot be read.
  std::string open(WorkspaceId workspace, std::string_view sealed);

 private:
  WorkspaceStore& store_;
  const Seal& seal_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace restante::desk
