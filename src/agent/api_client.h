// Platform: the server's side as the agent sees it, one method per call of the wire contract. Blocking; belongs to one
// thread at a time, cancel() apart. Every answer that is not the expected one is a Failure, so that callers decide by
// kind and status.
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

struct ReceivedRow {
  std::string id;
  std::int64_t seq = 0;
  std::string method;
  std::optional<std::string> source_id;  // the agent it comes from; none: a person
  std::string created_at;
  std::string status;  // of a delegation's result: ok or error
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

// What is asked of another agent.
struct NewTask {
  std::string id;  // of the delegation, chosen here: the same id twice is one task
  std::string target;
  std::string text;
  std::vector<Json> files;  // as stage_files() gave them
  std::string deadline;     // RFC 3339; empty: the server's own
};

struct RegistrationAnswer {
  std::string workspace_id;
  std::string auth_token;  // empty unless the server gave a fresh one
};

// Whether the same request may yet be answered otherwise, so that nothing is given up because of this failure: it
// passes, or it is a redirect, which is no word about the request. The sign-in page of a network answers so for
// everybody.
bool may_yet_succeed(const client::Failure& failure);

class ApiClient {
 public:
  using Bytes = client::HttpClient::Sink;

  ApiClient(client::Url server, std::string token, client::HttpOptions options = {});

  void use_token(std::string token) { token_ = std::move(token); }
  void use_workspace(std::string id) { workspace_ = std::move(id); }
  // Both from any thread: the end of every call, and the end of the connection under the present one.
  void cancel() { http_.cancel(); }
  void hang_up() { http_.hang_up(); }

  // In poll mode. Without a workspace the server takes the token's own. `name` is for a workspace that is made by this;
  // the agent card, which is the operator's to write, is left as it is.
  client::Outcome<RegistrationAnswer> register_agent(const std::string& workspace, const std::string& name);
  // The largest file the server takes; no value when it does not say.
  client::Outcome<std::optional<std::uint64_t>> largest_file();
  // How far the server believes we have read.
  client::Outcome<std::int64_t> last_acked();
  // What waits for us and is not acknowledged, oldest first, all of it.
  client::Outcome<std::vector<PendingFile>> waiting();
  client::Outcome<void> beat(std::chrono::seconds uptime);
  // The rows after since_seq, oldest first; held by the server for up to `wait` when there are none.
  client::Outcome<std::vector<ReceivedRow>> poll(std::int64_t since_seq, std::chrono::seconds wait);
  // The bytes from `offset` on; the sink sees from the head whether the server began there (206) or at 0 (200).
  client::Outcome<client::Response> fetch(FileId file, std::uint64_t offset, const Bytes& sink);
  client::Outcome<void> ack(FileId file);
  client::Outcome<void> fail(FileId file, std::string_view reason);
  // What became of a file: staged, fetched, acked, failed, expired or recalled.
  client::Outcome<std::string> state_of(FileId file);
  // A message to the person. The same key twice is one message.
  client::Outcome<void> notify(std::string_view text, std::string_view key);
  // A message to another agent that says how many automatic answers led to it. The same key twice is one message.
  client::Outcome<void> message(const std::string& workspace, std::string_view text, std::int64_t hops,
                                std::string_view key, const std::vector<Json>& files = {});
  // The end of a task that another agent gave us.
  enum class Ended { completed, failed };
  client::Outcome<void> end_delegation(std::string_view delegation, Ended end, std::string_view text,
                                       std::string_view key, const std::vector<Json>& files = {});

  // The tasks that others gave us are in platform_tasks.cpp. How one stands: somebody waits for its end; nobody does,
  // since it was cancelled, is overdue or done; or it was given up as silent, and a late answer is still welcome.
  enum class TaskInterest { wanted, unwanted, late };
  struct TaskView {
    TaskInterest interest = TaskInterest::wanted;
    std::string status;                               // in the server's word; empty: not known
    std::string why;                                  // nobody waits for it
    std::optional<std::chrono::milliseconds> left{};  // at most, until its deadline, by the server's clock
  };
  // Changes nothing.
  client::Outcome<TaskView> look_at_delegation(std::string_view delegation);
  // Looks, and if it is wanted says that we work on it. Done twice it is done once.
  client::Outcome<TaskView> begin_delegation(std::string_view delegation);
  // From time to time: we still do.
  client::Outcome<TaskInterest> beat_delegation(std::string_view delegation);

  // The rest is in platform_calls.cpp: what an agent asks for by itself. A Json is the server's answer, as it came.

  // Stages files of this machine as outgoing ones; each is {uri, name, mimeType, size, sha256}. `sent` hears of every
  // piece (bytes so far, bytes in all); false ends it. A file that cannot be read is Kind::stopped with a sentence.
  using Sent = std::function<bool(std::uint64_t, std::uint64_t)>;
  // With a key, the same files twice are staged once.
  client::Outcome<std::vector<Json>> stage_files(const std::vector<std::string>& paths, const Sent& sent,
                                                 const std::string& key = {});
  // A message to the person with such files.
  client::Outcome<void> notify(std::string_view text, const std::vector<Json>& files, std::string_view key);
  client::Outcome<Json> describe();
  client::Outcome<Json> peers();
  client::Outcome<Json> history(std::int64_t limit, const std::string& before);
  client::Outcome<Json> delegate(const NewTask& task);
  client::Outcome<Json> delegation(std::string_view id);

 private:
  client::Request request(std::string method, std::string target) const;
  client::Request post(std::string target, std::string json) const;
  std::string upload(FileId file, std::string_view rest) const;
  client::Outcome<Json> ask(const client::Request& request);
  client::Outcome<std::vector<Json>> send_batch(const std::vector<client::FormFile>& files, std::uint64_t before,
                                                std::uint64_t all, const Sent& sent, const std::string& key);

  client::HttpClient http_;
  std::string token_;
  std::string workspace_;
};

}  // namespace restante::agent
