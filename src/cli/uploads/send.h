// `restante send`: sends a message and files to an agent and, with --wait, waits until each file was acknowledged or is
// known to have failed. Only an acknowledged file is called "delivered".
#pragma once
#include <string>
#include <vector>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct SendOptions {
  RemoteOptions remote;
  std::string to;  // id or name; empty: the one workspace the token may write to
  std::string text;
  std::vector<std::string> files;
  bool wait = false;
  std::int64_t timeout = 0;  // of --wait, in seconds; 0: no limit
};

// Returns the exit code: 0 only when everything is sent and, with `wait`, every file was acknowledged.
int send(const SendOptions& options);

using client::FormFile;

// The files to send. Throws CommandFailed that names --file and the one that cannot be read.
std::vector<FormFile> describe_files(const std::vector<std::string>& paths);

// Uploads files, with a progress bar. Returns the `files` of the answers, in order.
std::vector<Json> upload_files(Remote& remote, const std::string& target, const std::vector<FormFile>& files);

// Divides the files into requests that fit the server's limits, in order. Throws CommandFailed that names a file that
// is too large.
std::vector<std::vector<FormFile>> batch_files(const std::vector<FormFile>& files, const Json& limits);

// The JSON-RPC envelope of a message with these files, each as in the answer of /chat/uploads.
std::string message_body(const std::string& text, const std::vector<Json>& files);

// The state of a file as text: "waiting", "fetched, not yet acknowledged", "delivered", "failed: disk full".
Cell describe_state(const Json& file);

}  // namespace restante::cli
