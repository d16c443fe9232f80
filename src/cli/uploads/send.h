// Parts of `restante send` that other commands use, or that a test can use without a server.
#pragma once
#include <string>
#include <vector>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

using client::FormFile;

// The files to send. Throws CommandFailed that names --file and the one that cannot be read.
std::vector<FormFile> describe_files(const std::vector<std::string>& paths);

// Uploads files, with a progress bar. Returns the `files` of the answers, in order.
std::vector<Json> upload_files(Remote& remote, const std::string& target, const std::vector<FormFile>& files);

// Divides the files into requests that fit the server's limits, in order. Throws CommandFailed that names a file that
// is too large.
std::vector<std::vector<FormFile>> batch_files(const std::vector<FormFile>& files, const Json& answer);

// The JSON-RPC envelope of a message with these files, each as in the answer of /chat/uploads.
std::string message_body(const std::string& text, const std::vector<Json>& files, const std::string& message_id);

// The state of a file as text: "waiting", "fetched, not yet acknowledged", "delivered", "failed: disk full".
Cell describe_state(const Json& file);

}  // namespace restante::cli
