// Requests: the requests of senders and agents on the upload routes, and what is read from the answers. Restante and
// its peer get the same requests; put() is for a plain file server.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/client.h"
#include "loadgen/content.h"

namespace loadgen {

struct Workspace {
  std::string id;
  std::string token;   // the agent's
  std::string sender;  // of a person who sends to it; else the agent's own
};

// Lines "id token" or "id token sender"; throws std::runtime_error when there is none.
std::vector<Workspace> read_workspaces(const std::string& path);

// One file of `size` bytes as multipart/form-data.
void send_upload(Client& client, const Workspace& to, const Content& content, std::size_t size);
// The same bytes as the body of a PUT, under a new name. Returns the path.
std::string send_put(Client& client, const std::string& folder, const Content& content, std::size_t size);
// The answer's body must be such a file.
void send_fetch(Client& client, const std::string& path, const std::string& token, const Content& content,
                std::size_t size);
// The agent's inbox after `cursor`, oldest first; without a cursor only the newest row.
void send_poll(Client& client, const Workspace& agent, const std::string& cursor);
void send_ack(Client& client, const Workspace& agent, const std::string& file_id);

std::string content_path(const Workspace& agent, const std::string& file_id);

// From the answer to an upload; throws when it names no file.
std::string file_id_in(std::string_view body);
// The id of the last row of an inbox page; empty when it has none.
std::string last_id_in(std::string_view body);

// Throws if the status is not the expected one; the message contains the answer.
void require_status(const Reply& reply, int wanted, std::string_view what);

}  // namespace loadgen
