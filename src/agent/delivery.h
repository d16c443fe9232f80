// Delivery: one thing handed over to the agent, as a value: a message with the files it names, or a file that came
// alone. Made from inbox rows and the state's map of files: every file part whose uri is `platform-pending:…` gets the
// uri `workspace:<absolute path>` if the file lies there, and otherwise keeps its uri and says so in `state`. Pure
// functions.
#pragma once
#include <string>
#include <vector>

#include "agent/api_client.h"
#include "agent/state.h"
#include "base/json.h"

namespace restante::agent {

struct DeliveredFile {
  std::string name;
  std::optional<std::int64_t> size;
  std::string sha256;
  std::string path;  // empty unless it is here
  std::string uri;   // workspace:<path>, or as the sender named it
  // landed, missing, expired, recalled, failed, gone, unknown, or external for a uri of another scheme
  std::string state;
  std::string reason;  // why it is not here, when that is known
  std::optional<FileId> id;
};

struct Delivery {
  std::string type;  // message, result or file; ended: a message that is a task which was over before it was begun
  std::string id;
  std::int64_t seq = 0;
  std::string method;
  std::optional<std::string> source_id;
  std::string created_at;
  std::string text;
  std::vector<DeliveredFile> files;
  std::string delegation_id;  // of a task from another agent, or of the task that this is the result of; empty: none
  std::string status;         // of a result: ok or error; of a task that has ended: how
  std::string reason;         // of a task that has ended: why
  std::int64_t hops = 0;      // how many automatic answers led to this message
  bool again = false;         // it was begun before and nobody knows how that ended: the receiver may have it
  Json body;                  // of a message: the row's request_body with rewritten uris

  // One object, one line.
  std::string json() const;
};

Delivery deliver_file(const FileRecord& file);
Delivery deliver_message(ReceivedRow row, const State& state);

// The delivery is a task that another agent gave to this one.
bool is_task(const Delivery& delivery);
// The delegation that a row is the result of; empty when it is no result.
std::string result_of(const ReceivedRow& row);

// The uris of all file parts, in order, as sent.
std::vector<std::string> file_uris(const Json& body);

// The member of a message's metadata that counts automatic answers between agents.
inline constexpr std::string_view kHopsMember = "restante_hops";

}  // namespace restante::agent
