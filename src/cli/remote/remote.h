// Remote: sends requests of the managing commands to a running server. Every call is one request that is answered 2xx
// or throws CommandFailed with a sentence that contains what to try: 69 when the server does not answer, 77 when the
// token is refused, 75 when the same call may work later, 1 otherwise. One thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/terminal/progress.h"
#include "cli/uploads/form.h"
#include "client/http_client.h"
#include "model/ids.h"

namespace restante::cli {

struct RemoteOptions {
  std::string url;         // --url or RESTANTE_URL; empty: the default of a server on this machine
  std::string token;       // RESTANTE_TOKEN only: an argument would show in `ps`
  std::string token_file;  // --token-file; wins over RESTANTE_TOKEN
  std::string data;        // --data: where admin.token is looked for; empty: RESTANTE_DATA or ./data, for loopback only
  bool json = false;       // --json: print the server's answer unchanged
};

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
  std::string upload_once(const std::string& target, Form& form, Progress& progress, const std::string& key);

  // `id_or_name` itself if it is an id, otherwise the id of the one workspace of that name.
  WorkspaceId find_workspace(const std::string& id_or_name);

 private:
  std::string send(const std::string& method, const std::string& target, std::string json);
  // Repeats the request a few times; `before` is called before every attempt.
  std::string send_persistently(const client::Request& request, const std::function<void()>& before);
  client::Request request_to(const std::string& method, const std::string& target) const;

  client::HttpClient http_;
  std::string token_;
  std::string token_origin_;  // for messages: where the token came from
};

// The answer as JSON. Throws CommandFailed when it is none: then the server is not Restante.
Json parse_answer(std::string_view body);

// A member as text; empty when absent, null or not a text.
std::string text_of(const Json& object, std::string_view key);
// A member as a whole number; 0 when absent or not a number.
std::uint64_t number_of(const Json& object, std::string_view key);

}  // namespace restante::cli
