// ApiClient: one method for each call of the server's API. Blocking; one thread at a time, except cancel() and
// hang_up(). Every answer other than the expected one is a Failure, so that callers decide by kind and status.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "client/form.h"
#include "client/http_client.h"
#include "model/ids.h"

namespace restante::agent {

struct Delivery;

struct ReceivedRow {
  std::string id;
  std::int64_t seq = 0;
  std::string method;
  std::optional<std::string> source_id;  // the workspace of the sending agent; none: a person
  std::string created_at;
  std::string status;  // of a task's result: ok or error
  Json request_body;
};

// A file that waits on the server.
struct PendingFile {
  FileId id;
  std::string name;
  std::uint64_t size = 0;
  std::string sha256;
  std::string uri;
  std::string created_at;
};

// A task for another agent.
struct NewTask {
  std::string id;  // delegation id, chosen by us: the same id twice is one task
  std::string target;
  std::string text;
  std::vector<Json> files;  // as returned by stage_files()
  std::string deadline;     // RFC 3339; empty: the server's default
};

struct RegistrationAnswer {
  std::string workspace_id;
  std::string auth_token;  // empty unless the server returned a new one
};

// True when the same request may succeed later, so that nothing is given up because of this failure: a temporary
// failure, or a redirect. A redirect may come from the sign-in page of a network, which answers every request so.
bool may_yet_succeed(const client::Failure& failure);

class ApiClient {
 public:
  using Bytes = client::HttpClient::Sink;

  ApiClient(client::Url server, std::string token, client::HttpOptions options = {});

  void use_token(std::string token) { token_ = std::move(token); }
  void use_workspace(std::string id) { workspace_ = std::move(id); }
  // Both from any thread. cancel() ends this and all later calls; hang_up() closes the connection of the present call.
  void cancel() { http_.cancel(); }
  void hang_up() { http_.hang_up(); }

  // Registers in poll mode. Without a workspace the server takes that of the token. `name` is for a workspace that this
  // call creates. The agent card, which the operator writes, is not changed.
  client::Outcome<RegistrationAnswer> register_agent(const std::string& workspace, const std::string& name);
  // The largest file the server accepts; 0 when its answer does not contain it.
  client::Outcome<std::uint64_t> largest_file();
  // The last seq that this workspace has acked.
  client::Outcome<std::int64_t> last_acked();
  // All files that wait for this workspace and are not acked, oldest first.
  client::Outcome<std::vector<PendingFile>> waiting();
  client::Outcome<void> beat(std::chrono::seconds uptime);
  // The rows after row `since_id` or, if that is empty, after the number `since_seq`; oldest first. When there are
  // none, the server holds the request for up to `wait`.
  client::Outcome<std::vector<ReceivedRow>> poll(std::int64_t since_seq, std::string_view since_id,
                                                 std::chrono::seconds wait);
  // The id of the row with this number; empty when the server has none.
  client::Outcome<std::string> row_at(std::int64_t seq);
  // The content from `offset` on. The sink sees in the head whether the server began there (206) or at 0 (200).
  client::Outcome<client::Response> fetch(FileId file, std::uint64_t offset, const Bytes& sink);
  client::Outcome<void> ack(FileId file);
  client::Outcome<void> fail(FileId file, std::string_view reason);
  // The state of a file: staged, fetched, acked, failed, expired or recalled.
  client::Outcome<std::string> state_of(FileId file);
  // A message to another agent; `hops` is the number of automatic answers that led to it. The same key twice is one
  // message.
  client::Outcome<void> message(const std::string& workspace, std::string_view text, std::int64_t hops,
                                std::string_view key, const std::vector<Json>& files = {});
  // Ends a task that another agent gave us.
  enum class Ended { completed, failed };
  client::Outcome<void> end_delegation(std::string_view delegation, Ended end, std::string_view text,
                                       std::string_view key, const std::vector<Json>& files = {});

  // Tasks that others gave us (api_client_tasks.cpp). wanted: the caller waits for the result. unwanted: the task was
  // cancelled, is overdue or has ended. late: the server gave it up as silent, and a late result is still accepted.
  // not_a_task: the message names a task that the server did not give to us with it; anyone can write such a message.
  enum class TaskInterest { wanted, unwanted, late, not_a_task };
  struct TaskView {
    TaskInterest interest = TaskInterest::wanted;
    std::string status;                               // as the server names it; empty: not known
    std::string why;                                  // why it is unwanted
    std::optional<std::chrono::milliseconds> left{};  // time until its deadline at most, by the server's clock
  };
  // Reads the task that the message names; changes nothing.
  client::Outcome<TaskView> view_delegation(const Delivery& message);
  // Reads the task and, if it is wanted, reports that we work on it. Calling it twice is the same as once.
  client::Outcome<TaskView> begin_delegation(const Delivery& message);
  // The task's heartbeat: we still work on it.
  client::Outcome<TaskInterest> beat_delegation(std::string_view delegation);

  // Requests that an agent makes by itself (api_client_calls.cpp). A returned Json is the server's answer, unchanged.

  // Stages local files as outgoing ones; each result is {uri, name, mimeType, size, sha256}. `sent` is called for every
  // piece (bytes so far, bytes in all); when it returns false the upload ends. A file that cannot be read is
  // Kind::stopped with a sentence.
  using Sent = std::function<bool(std::uint64_t, std::uint64_t)>;
  // With a key, the same files twice are staged once.
  client::Outcome<std::vector<Json>> stage_files(const std::vector<std::string>& paths, const Sent& sent,
                                                 const std::string& key = {});
  // A message to the person with files from stage_files(). The same key twice is one message. `reply_to` is the inbox
  // row that it answers; empty: none.
  client::Outcome<void> notify(std::string_view text, const std::vector<Json>& files, std::string_view key,
                               std::string_view reply_to = {});
  client::Outcome<Json> describe();
  client::Outcome<Json::Array> peers();
  client::Outcome<Json> history(std::int64_t limit, const std::string& before);
  client::Outcome<Json> delegate(const NewTask& task);
  client::Outcome<Json> delegation(std::string_view id);
  // Any other request whose answer is JSON.
  client::Outcome<Json> get(std::string target);
  client::Outcome<Json> post(std::string target, std::string type, std::string body);

 private:
  client::Request request(std::string method, std::string target) const;
  client::Request json_request(std::string target, std::string json, std::string_view key = {}) const;
  // Paths of this workspace.
  std::string path(std::string_view rest) const;
  std::string upload_path(FileId file, std::string_view rest) const;
  std::string delegation_path(std::string_view id, std::string_view rest) const;
  // Sends the request; the answer must be JSON, or its content does not matter.
  client::Outcome<Json> ask(const client::Request& request);
  client::Outcome<void> tell(const client::Request& request);
  client::Outcome<std::vector<Json>> send_batch(const std::vector<client::FormFile>& files, std::uint64_t before,
                                                std::uint64_t all, const Sent& sent, const std::string& key);

  client::HttpClient http_;
  std::string token_;
  std::string workspace_;
};

}  // namespace restante::agent
