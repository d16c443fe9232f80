#include "cli/send.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "base/uuid.h"
#include "cli/exit_codes.h"
#include "cli/failed.h"
#include "cli/terminal.h"

namespace restante::cli {
namespace {

constexpr std::string_view kPendingScheme = "platform-pending:";
// Being fetched is no row of the log, so it wakes no poll: this often it is looked at anyway.
constexpr int kLookSeconds = 2;

Colours colours(int fd) { return colourful(fd) ? Colours::on : Colours::off; }

WorkspaceId find_target(Remote& remote, const std::string& to) {
  if (!to.empty()) return remote.find_workspace(to);
  const Json who = parse_answer(remote.get("/session"));
  if (const auto own = WorkspaceId::parse(text_of(who, "workspace_id"))) return *own;
  throw CommandFailed(kExitUsage, "to whom? --to WORKSPACE says it (restante workspace list shows them)");
}

// The id in platform-pending:<workspace>/<id>; empty for what the agent keeps itself.
std::string file_id_of(const Json& file) {
  const std::string uri = text_of(file, "uri");
  const auto slash = uri.rfind('/');
  return uri.starts_with(kPendingScheme) && slash != std::string::npos ? uri.substr(slash + 1) : std::string();
}

bool is_final(const Json& file) {
  const std::string state = text_of(file, "state");
  return state == "acked" || state == "failed" || state == "expired" || state == "recalled";
}

// Follows files that wait on the server until nothing more will happen to them.
class Watch {
 public:
  Watch(Remote& remote, WorkspaceId to, const std::vector<Json>& files)
      : remote_(remote), base_("/workspaces/" + to.text()) {
    for (const Json& file : files) {
      if (!file_id_of(file).empty()) ids_.push_back(file_id_of(file));
    }
    states_.resize(ids_.size());
  }

  // Tells each change as it is seen. False when the time is up.
  bool until_done(std::int64_t timeout, bool quiet) {
    const auto began = std::chrono::steady_clock::now();
    std::string since = newest_seq();
    for (;;) {
      if (look(quiet)) return true;
      if (timeout > 0 && std::chrono::steady_clock::now() - began >= std::chrono::seconds(timeout)) return false;
      since = wait_for_receipt(since);
    }
  }
  const std::vector<Json>& states() const { return states_; }

 private:
  // True when all is final.
  bool look(bool quiet) {
    bool done = true;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (is_final(states_[i])) continue;
      Json now = parse_answer(remote_.get(base_ + "/pending-uploads/" + ids_[i]));
      if (!quiet && text_of(now, "state") != text_of(states_[i], "state")) tell(now);
      done = done && is_final(now);
      states_[i] = std::move(now);
    }
    return done;
  }
  static void tell(const Json& file) {
    print(format_facts({{text_of(file, "name"), describe_state(file)}}, colours(STDOUT_FILENO)));
  }
  std::string newest_seq() {
    const Json rows = parse_answer(remote_.get(base_ + "/activity?limit=1"));
    return rows.if_array() && !rows.if_array()->empty() ? std::to_string(number_of(rows.if_array()->front(), "seq"))
                                                        : "0";
  }
  std::string wait_for_receipt(const std::string& since) {
    const Json rows = parse_answer(
        remote_.get(fmt::format("{}/activity?type=upload_receipt&since_seq={}&wait={}", base_, since, kLookSeconds)));
    return rows.if_array() && !rows.if_array()->empty() ? std::to_string(number_of(rows.if_array()->back(), "seq"))
                                                        : since;
  }

  Remote& remote_;
  const std::string base_;
  std::vector<std::string> ids_;
  std::vector<Json> states_;
};

std::string as_json(WorkspaceId to, const std::vector<Json>& files, const std::string& message) {
  JsonWriter out;
  out.begin_object();
  out.member("workspace_id", to.text());
  out.key("files");
  out.begin_array();
  for (const Json& file : files) out.raw(file.dump());
  out.end_array();
  out.key("message");
  message.empty() ? out.null() : out.raw(message);
  out.end_object();
  return out.take() + '\n';
}

std::string describe_sent(const SendOptions& options, const std::vector<FormFile>& files) {
  if (files.empty()) return "The message is kept for the agent and will be there when it asks.\n";
  std::uint64_t bytes = 0;
  for (const FormFile& file : files) bytes += file.size;
  const bool one = files.size() == 1;
  const std::string what = fmt::format("{} {} ({})", files.size(), one ? "file" : "files", format_bytes(bytes));
  if (options.wait) return fmt::format("{} sent; waiting for the agent to take {}.\n", what, one ? "it" : "them");
  return fmt::format("{} {} kept for the agent until it asks; restante uploads shows what became of {}.\n", what,
                     one ? "is" : "are", one ? "it" : "them");
}

int outcome(const std::vector<Json>& states) {
  const bool delivered =
      std::ranges::all_of(states, [](const Json& file) { return text_of(file, "state") == "acked"; });
  return delivered ? kExitOk : kExitFailed;
}

}  // namespace

std::vector<Json> upload_files(Remote& remote, const std::string& target, const std::vector<FormFile>& files) {
  std::vector<Json> sent;
  if (files.empty()) return sent;
  for (const auto& batch : batch_files(files, parse_answer(remote.get("/uploads/limits")))) {
    Form form(batch);
    Progress progress(form.length());
    const Json answer = parse_answer(remote.upload_once(target, form, progress, fresh_key()));
    const Json* list = answer.find("files");
    if (!list || !list->if_array() || list->if_array()->size() != batch.size())
      throw CommandFailed(kExitFailed, "the answer to the upload names other files than were sent");
    sent.insert(sent.end(), list->if_array()->begin(), list->if_array()->end());
  }
  return sent;
}

std::vector<std::vector<FormFile>> batch_files(const std::vector<FormFile>& files, const Json& limits) {
  const std::uint64_t per_file = number_of(limits, "per_file_bytes");
  const std::uint64_t per_request = number_of(limits, "per_request_bytes");
  const std::uint64_t most = std::max<std::uint64_t>(number_of(limits, "max_files"), 1);
  constexpr std::uint64_t kOverhead = 1024;  // head of a part, generously
  std::vector<std::vector<FormFile>> batches;
  std::uint64_t bytes = 0;
  for (const FormFile& file : files) {
    if (per_file > 0 && file.size > per_file) {
      throw CommandFailed(kExitFailed,
                          fmt::format("--file {}: has {} bytes ({}), and this server takes at most {} ({}) a file; "
                                      "nothing was sent",
                                      file.path, file.size, format_bytes(file.size), per_file, format_bytes(per_file)));
    }
    const bool full = !batches.empty() && (batches.back().size() >= most ||
                                           (per_request > 0 && bytes + file.size + kOverhead > per_request));
    if (batches.empty() || full) {
      batches.emplace_back();
      bytes = kOverhead;
    }
    batches.back().push_back(file);
    bytes += file.size + kOverhead;
  }
  return batches;
}

std::string message_body(const std::string& text, const std::vector<Json>& files) {
  JsonWriter out;
  out.begin_object();
  out.member("jsonrpc", "2.0");
  out.member("id", "1");
  out.member("method", "message/send");
  out.key("params");
  out.begin_object();
  out.key("message");
  out.begin_object();
  out.member("role", "user");
  out.member("messageId", fresh_key());
  out.key("parts");
  out.begin_array();
  if (!text.empty()) {
    out.begin_object();
    out.member("kind", "text");
    out.member("text", text);
    out.end_object();
  }
  for (const Json& file : files) {
    out.begin_object();
    out.member("kind", "file");
    out.key("file");
    out.begin_object();
    for (const char* key : {"uri", "name", "mimeType", "size"}) {
      const Json* value = file.find(key);
      if (!value || value->is_null()) continue;
      out.key(key);
      out.raw(value->dump());
    }
    out.end_object();
    out.end_object();
  }
  out.end_array();
  out.end_object();
  out.end_object();
  out.end_object();
  return out.take();
}

Cell describe_state(const Json& file) {
  const std::string state = text_of(file, "state");
  const std::string reason = text_of(file, "reason");
  if (state == "staged") return {"waiting", Paint::plain};
  if (state == "fetched") return {"fetched, not yet acknowledged", Paint::warn};
  if (state == "acked") return {"delivered", Paint::good};
  if (state == "failed") return {"failed: " + (reason.empty() ? "the agent gave no reason" : reason), Paint::bad};
  if (state == "expired") return {"expired before the agent took it", Paint::bad};
  if (state == "recalled") return {"recalled", Paint::bad};
  return {state, Paint::plain};
}

int send(const SendOptions& options) {
  if (options.text.empty() && options.files.empty())
    throw CommandFailed(kExitUsage, "there is nothing to send: give a text, --file FILE, or both");
  std::vector<FormFile> files;
  for (const std::string& path : options.files) files.push_back(describe_file(path));
  Remote remote(options.remote);
  const WorkspaceId to = find_target(remote, options.to);
  std::vector<Json> sent = upload_files(remote, "/workspaces/" + to.text() + "/chat/uploads", files);
  const std::string message =
      remote.post_once("/workspaces/" + to.text() + "/a2a", message_body(options.text, sent), fresh_key());
  if (!options.remote.json) print(describe_sent(options, files));
  Watch watch(remote, to, sent);
  bool in_time = true;
  if (options.wait) {
    in_time = watch.until_done(options.timeout, options.remote.json);
    if (!watch.states().empty()) sent = watch.states();
  }
  if (options.remote.json) print(as_json(to, sent, message));
  if (!in_time)
    throw CommandFailed(kExitTryAgain, fmt::format("not everything was taken within {} s; it stays there and can be "
                                                   "taken until it expires",
                                                   options.timeout));
  return options.wait ? outcome(watch.states()) : kExitOk;
}

}  // namespace restante::cli
