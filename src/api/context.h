// Context: what handlers work with. One per server, made by the wiring, constant while requests are served.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "desk/inbox.h"
#include "desk/messages.h"
#include "desk/principals.h"
#include "desk/uploads.h"
#include "desk/workspaces.h"

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

struct Context {
  const Clock& clock;
  Metrics& metrics;
  desk::Principals& principals;
  desk::Workspaces& workspaces;
  desk::Inbox& inbox;
  desk::Messages& messages;
  desk::Uploads& uploads;
  std::vector<ReadinessCheck> readiness;
  std::vector<PageFile> page;
  std::string public_url;                  // as configured, without a slash at the end; may be empty
  std::vector<std::string> allowed_hosts;  // besides loopback and public_url's
  bool open_metrics = false;               // a loopback bind: whoever can connect may read them
  Digest metrics_token{};                  // beside the admin's; all zero = none
};

}  // namespace restante::api
