// Delivery: a message with the files it names, or a file that came alone, as it is handed over to the agent. It is made
// from an inbox row and the state's files: a file part with a uri `platform-pending:…` gets the uri
// `workspace:<absolute path>` when the file has landed; otherwise it keeps its uri and has the reason in `state`. Pure
// functions, except demo_reply().
#pragma once
#include <string>
#include <vector>

#include "agent/api_client.h"
#include "agent/state.h"
#include "base/json.h"
#include "base/json_writer.h"

namespace restante::agent {

struct DeliveredFile {
  std::string name;
  std::optional<std::int64_t> size;
  std::string sha256;
  std::string path;  // empty unless it has landed
  std::string uri;   // workspace:<path>, or as the sender named it
  // landed, missing, expired, recalled, failed, gone, unknown, or external for a uri of another scheme
  std::string state;
  std::string reason;  // why it has not landed, when known
  std::optional<FileId> id;
};

struct Delivery {
  std::string type;  // message, result or file; ended: a task that had ended before it was begun
  std::string id;
  std::int64_t seq = 0;
  std::string method;
  std::optional<std::string> source_id;
  std::string created_at;
  std::string text;
  std::vector<DeliveredFile> files;
  // Of the task whose result this is, or that another agent gave us. That a message is a task is what the message says,
  // until the server has confirmed it (ApiClient::view_delegation). Empty: none.
  std::string delegation_id;
  std::string status;     // of a result: ok or error; of a task that has ended: how
  std::string reason;     // of a task that has ended: why
  std::int64_t hops = 0;  // how many automatic answers led to this message
  bool again = false;     // begun before with an unknown end: the receiver may have it already
  Json body;              // of a message: the row's request_body with rewritten uris

  // One JSON object on one line.
  std::string json() const;
};

void write_file(JsonWriter& out, const DeliveredFile& file);
// The member `files`.
void write_files(JsonWriter& out, const std::vector<DeliveredFile>& files);

Delivery deliver_file(const FileRecord& file);
Delivery deliver_message(ReceivedRow row, const State& state);

// True when the delivery is a task that another agent gave to this one.
bool is_task(const Delivery& delivery);
// The message is no task: it names one that the server has not confirmed.
void forget_task(Delivery& delivery);
// The id of the delegation whose result the row is; empty when it is no result.
std::string result_of(const ReceivedRow& row);

// A member of the A2A message in the body; null when there is none.
const Json& message_member(const Json& body, std::string_view name);
// The uris of all file parts, in order, as sent.
std::vector<std::string> file_uris(const Json& body);

// The member of a message's metadata that counts automatic answers between agents.
inline constexpr std::string_view kHopsMember = "restante_hops";

// The demo agent: what `restante dev` runs for each delivery. It reads one delivery as JSON from stdin and prints one
// line per file (name, size, sha256 of the file on disk), or the text when there are no files. Returns the exit code.
int demo_reply();  // demo.cpp
// The same on text. Empty when it is no delivery.
std::string demo_reply_to(std::string_view delivery_json);

}  // namespace restante::agent
