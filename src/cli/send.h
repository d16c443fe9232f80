// `restante send`: a message and files to an agent, and, if asked, waiting until each file was taken or is known not to
// be. "Delivered" is said of what was acknowledged, of nothing else.
#pragma once
#include <string>
#include <vector>

#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct SendOptions {
  RemoteOptions remote;
  std::string to;  // id or name; empty: the one workspace the token may write to
  std::string text;
  std::vector<std::string> files;
  bool wait = false;
  std::int64_t timeout = 0;  // of waiting, in seconds; 0: as long as it takes
};

// Returns the exit code: 0 only when everything is sent and, with `wait`, every file was acknowledged.
int send(const SendOptions& options);

// Sends files to a route that takes them, with a progress bar. Gives the answers' files, in order.
std::vector<Json> upload_files(Remote& remote, const std::string& target, const std::vector<FormFile>& files);

// Files for one request each: as many as fit into the server's limits, in order. Throws CommandFailed naming the file
// that is too large.
std::vector<std::vector<FormFile>> batch_files(const std::vector<FormFile>& files, const Json& limits);

// The JSON-RPC envelope of a message with these files, each as /chat/uploads answered it.
std::string message_body(const std::string& text, const std::vector<Json>& files);

// Where a file is on its way, in words: "waiting", "fetched, not yet acknowledged", "delivered", "failed: disk full".
Cell describe_state(const Json& file);

}  // namespace restante::cli
