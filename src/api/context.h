// Context: the objects that handlers work with. One per server, made by the wiring, constant while requests are served.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/download.h"
#include "api/readiness.h"
#include "base/clock.h"
#include "base/loop_tick.h"
#include "base/metrics.h"
#include "desk/blob_checks/blob_check.h"
#include "desk/blob_moves/blob_moves.h"
#include "desk/clock/clock_check.h"
#include "desk/delegations/delegations.h"
#include "desk/events/events.h"
#include "desk/inbox/chat_history.h"
#include "desk/inbox/inbox.h"
#include "desk/inbox/messages.h"
#include "desk/inbox/outgoing.h"
#include "desk/inbox/room.h"
#include "desk/principals/idempotency.h"
#include "desk/principals/invalid_token_limiter.h"
#include "desk/principals/principals.h"
#include "desk/principals/tokens.h"
#include "desk/series/series.h"
#include "desk/uploads/sweep.h"
#include "desk/uploads/upload_pushes.h"
#include "desk/uploads/uploads.h"
#include "desk/workspaces/access.h"
#include "desk/workspaces/callbacks.h"
#include "desk/workspaces/inbound_secrets.h"
#include "desk/workspaces/workspaces.h"
#include "http/callback_url.h"
#include "http/response.h"

namespace restante::api {

// A file of the page, embedded in the binary.
struct PageFile {
  std::string path;  // "/", "/assets/index-1a2b.js"
  std::string_view content_type;
  std::string_view bytes;
};

// A setting that is in effect, for the operator. A secret is only shown as set or not set.
struct EffectiveSetting {
  std::string key;
  std::string value;   // as TOML
  std::string origin;  // where it was set; empty = the default
  std::string help;
};

// The database or a place of files, and its state as of now.
struct StoreState {
  std::string name;    // as in /ready
  std::string kind;    // "SQLite", "PostgreSQL", "files"; empty when it is not known
  std::string detail;  // version and schema
  std::string place;   // without a password
  std::string error;   // why it does not work; empty = it works
};

// What runs here and how it is configured, for the operator. Contains no secret.
struct ServerFacts {
  std::string version;
  std::string commit;
  std::string compiler;
  Time started_at;
  bool shared = false;  // other servers may use the same database
  std::vector<StoreState> stores{};
  std::vector<EffectiveSetting> settings{};
  std::vector<std::string> warnings{};
  std::string clock_doubt{};  // why nothing expires; empty while the clock is trusted
};

// What is needed to call push workspaces.
struct Push {
  desk::Callbacks& callbacks;
  desk::InboundSecrets& secrets;
  desk::UploadPushes& uploads;
  http::AddressRules rules;
  std::chrono::milliseconds timeout{30'000};
  // Every address of a host; none when it does not resolve. May take a few seconds, never more.
  std::function<std::vector<std::string>(const std::string& host)> resolve;
  bool stage_when_down = false;  // uploads that cannot be delivered are staged like those for a poll workspace
  // Calls a callback for which no client waits; when its `then` throws, that is tried again.
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
  Readiness readiness;
  std::vector<PageFile> page;
  std::string public_url;                  // as configured, without a slash at the end; may be empty
  std::vector<std::string> allowed_hosts;  // in addition to loopback and the host of public_url
  bool open_registration = false;          // agents without a token may register an id that has none
  bool open_metrics = false;               // a loopback bind without a proxy: every direct client may read them
  Digest metrics_token{};                  // in addition to the operator's; all zero = none
  // Makes, stores and returns a new operator's token; from then on only that one is valid. Throws Unavailable.
  std::function<Result<std::string>()> rotate_admin_token{};
  // The state of the background loops.
  std::function<std::vector<LoopTick>()> loops{};
  // For download: the agent's executables, the agent in Python, and the script that chooses one.
  std::vector<Program> programs{};
  // Asks the stores for their state: may take as long as they do.
  std::function<ServerFacts()> facts{};
  const desk::Series* series = nullptr;
  const desk::Room* room = nullptr;  // null: there is always room
  desk::BlobCheck* blob_check = nullptr;
  desk::BlobMoves* blob_moves = nullptr;
  desk::ClockCheck* clock_check = nullptr;
};

}  // namespace restante::api
