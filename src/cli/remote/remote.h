// Remote: sends requests of the managing commands to a running server. Every call is one request that is answered 2xx
// or throws CommandFailed with a sentence that contains what to try: 69 when the server does not answer, 77 when the
// token is refused, 75 when the same call may work later, 1 otherwise. One thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "client/form.h"
#include "client/http_client.h"
#include "model/ids.h"

namespace restante::cli {

class Remote {
 public:
  // Finds the token; sends no request yet.
  explicit Remote(const RemoteOptions& options);

  std::string get(const std::string& target) { return send("GET", target, {}); }
  std::string post(const std::string& target, std::string json) { return send("POST", target, std::move(json)); }
  std::string patch(const std::string& target, std::string json) { return send("PATCH", target, std::move(json)); }
  std::string remove(const std::string& target) { return send("DELETE", target, {}); }
  // The same with an Idempotency-Key: repeated after a broken connection, with one effect.
  std::string post_once(const std::string& target, std::string json, const std::string& key);
  // A file that cannot be read is an error that names --file.
  std::string upload_once(const std::string& target, client::Form& form, Progress& progress, const std::string& key);

  // `id_or_name` itself if it is an id, otherwise the id of the one workspace of that name or short id.
  WorkspaceId find_workspace(const std::string& id_or_name);
  // The same; for an empty text the workspace of the token. Throws CommandFailed with `question` when the token has
  // none.
  WorkspaceId find_workspace_or_own(const std::string& id_or_name, const std::string& question);
  // The id of the token's workspace; empty for a token that has none, such as the operator's.
  std::string own_workspace();
  // Whose token it is: admin, workspace or sender.
  std::string role();

  // The content from `offset` on, given to the sink piece by piece.
  client::Outcome<client::Response> download(const std::string& target, std::uint64_t offset,
                                             const client::HttpClient::Sink& sink);
  // From any thread: ends the present request and every later one with an error.
  void cancel() { http_.cancel(); }

 private:
  std::string send(const std::string& method, const std::string& target, std::string json);
  // Repeats the request a few times; `before` is called before every attempt.
  std::string send_persistently(const client::Request& request, const std::function<void()>& before);
  client::Request request_to(const std::string& method, const std::string& target) const;

  client::HttpClient http_;
  std::string token_;
  std::string token_origin_;  // for messages: where the token came from
};

// The end of an id: enough to tell workspaces of the same name apart. The beginning is a time and often the same.
std::string short_id(std::string_view id);
// "01999a3c-… (last seen 3 min ago)", for a list of workspaces of the same name.
std::string describe_candidate(const Json& workspace, Time now);

// The answer as JSON. Throws CommandFailed when it is none: then the server is not Restante.
Json parse_answer(std::string_view body);
// The elements of an answer that is a list.
Json::Array parse_list(std::string_view body);

// Prints the answer: unchanged with --json, otherwise as `format` writes it. Returns the exit code.
int print_answer(const RemoteOptions& options, const std::string& answer,
                 const std::function<std::string(const Json&)>& format);

// Throws CommandFailed when the value of the flag --<name> is none of these, with the one that was probably meant.
void check_choice(const std::string& name, const std::string& given, const std::vector<std::string>& choices);

}  // namespace restante::cli
