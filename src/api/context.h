// Context: what handlers work with. One per server, made by the wiring, constant while requests are served.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/download.h"
#include "base/clock.h"
#include "base/loop_tick.h"
#include "base/metrics.h"
#include "desk/access.h"
#include "desk/blob_check.h"
#include "desk/blob_moves.h"
#include "desk/callbacks.h"
#include "desk/chat_history.h"
#include "desk/delegations.h"
#include "desk/events.h"
#include "desk/idempotency.h"
#include "desk/inbound_secrets.h"
#include "desk/inbox.h"
#include "desk/invalid_token_limiter.h"
#include "desk/messages.h"
#include "desk/outgoing.h"
#include "desk/principals.h"
#include "desk/series.h"
#include "desk/sweep.h"
#include "desk/tokens.h"
#include "desk/upload_pushes.h"
#include "desk/uploads.h"
#include "desk/workspaces.h"
#include "http/callback_url.h"

namespace restante::api {

// One thing /ready asks about.
struct ReadinessCheck {
  std::string name;
  std::function<void()> check;  // throws when it is not ready
};

// A file of the page, embedded in the binary.
struct PageFile {
  std::string path;  // "/", "/assets/index-1a2b.js"
  std::string_view content_type;
  std::string_view bytes;
};

// A setting as it is in effect, for the operator. Of a secret there is only that it is set.
struct EffectiveSetting {
  std::string key;
  std::string value;   // as TOML
  std::string origin;  // where it was given; empty = the default
  std::string help;
};

// A place where rows or bytes are kept, as of now.
struct StoreState {
  std::string name;    // as in /ready
  std::string kind;    // "SQLite", "PostgreSQL", "files"; empty when it cannot be told
  std::string detail;  // version and schema
  std::string place;   // without a password
  std::string error;   // why it does not work; empty = it does
};

// What runs here and how it was told to, for the operator's eyes. Holds no secret.
struct ServerFacts {
  std::string version;
  std::string commit;
  std::string compiler;
  Time started_at;
  bool shared = false;  // other servers may work on the same rows
  std::vector<StoreState> stores{};
  std::vector<EffectiveSetting> settings{};
  std::vector<std::string> warnings{};
};

// What calling push workspaces takes.
struct Push {
  desk::Callbacks& callbacks;
  desk::InboundSecrets& secrets;
  desk::UploadPushes& uploads;
  http::AddressRules rules;
  std::chrono::milliseconds timeout{30'000};
  // Every address of a host; none when it does not resolve. May take seconds, never more than a few.
  std::function<std::vector<std::string>(const std::string& host)> resolve;
  bool stage_when_down = false;  // uploads that cannot be delivered wait like those of a poll workspace
  // Asks a callback while no client waits; what its `then` throws is tried again.
  std::function<void(http::Forward)> call{};
};

struct Context {
  const Clock& clock;
  Metrics& metrics;
  desk::Principals& principals;
  desk::InvalidTokenLimiter& invalid_token_limiter;
  desk::Workspaces& workspaces;
  desk::Tokens& tokens;
  desk::Access& access;
  desk::Inbox& inbox;
  desk::ChatHistory& chat_history;
  desk::Events& events;
  desk::Messages& messages;
  desk::IdempotencyLocks& idempotency_locks;
  desk::Uploads& uploads;
  desk::Outgoing& outgoing;
  desk::Sweep& sweep;
  desk::Delegations& delegations;
  const Push& push;
  std::vector<ReadinessCheck> readiness;
  std::vector<PageFile> page;
  std::string public_url;                  // as configured, without a slash at the end; may be empty
  std::vector<std::string> allowed_hosts;  // besides loopback and public_url's
  bool open_registration = false;          // agents without a token may register an id that has none
  bool open_metrics = false;               // a loopback bind: whoever can connect may read them
  Digest metrics_token{};                  // beside the admin's; all zero = none
  // Makes, keeps and gives a new admin token; from then on only that one counts. Throws Unavailable.
  std::function<Result<std::string>()> rotate_admin_token{};
  // How the background loops are doing.
  std::function<std::vector<LoopTick>()> loops{};
  // The agent's executable, to hand out.
  Program program{};
  // Asks the stores how they are: may take as long as they do.
  std::function<ServerFacts()> facts{};
  const desk::Series* series = nullptr;
  desk::BlobCheck* blob_check = nullptr;
  desk::BlobMoves* blob_moves = nullptr;
};

}  // namespace restante::api
