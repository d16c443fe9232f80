#include "cli/uploads/send.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/chat/answers.h"
#include "cli/remote/wait.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "cli/uploads/save.h"
#include "model/a2a.h"
#include "model/file_part.h"
#include "model/upload.h"

namespace restante::cli {
namespace {

// The id in platform-pending:<workspace>/<id>; empty for a file that the agent keeps itself.
std::string file_id_of(const Json& file) {
  const std::string uri = file.text("uri");
  const auto slash = uri.rfind('/');
  return uri.starts_with(kPendingScheme) && slash != std::string::npos ? uri.substr(slash + 1) : std::string();
}

bool is_final(const Json& file) {
  const std::string state = file.text("state");
  return state == "acked" || state == "failed" || state == "expired" || state == "recalled";
}

// What was sent so far, with the last known state of each file.
struct Sent {
  WorkspaceId to;
  std::vector<Json> files;
  std::string message;
  std::optional<Answer> answer{};
  std::vector<ReturnedFile> returned{};
};

// Follows the files until each has a final state.
class FileFollower {
 public:
  FileFollower(Remote& remote, Sent& sent, std::int64_t timeout, bool quiet)
      : waiting_(
            remote, timeout,
            fmt::format("not everything was fetched within {} s; it stays there and can be fetched until it expires",
                        timeout)),
        base_("/workspaces/" + sent.to.text()),
        files_(sent.files),
        quiet_(quiet) {
    for (const Json& file : files_) ids_.push_back(file_id_of(file));
  }

  // Prints each change. Throws CommandFailed when the time is up. Reads only the files, not the inbox: with the
  // workspace's own token, reading the inbox would ack its rows.
  void until_done() {
    while (!poll_once())
      waiting_.pause(std::exchange(changed_, false) ? RemoteWait::Observed::change : RemoteWait::Observed::no_change);
  }
  // True when all were acknowledged. Files that the agent keeps itself were delivered when they were sent.
  bool delivered() const {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (!ids_[i].empty() && files_[i].text("state") != "acked") return false;
    }
    return true;
  }

 private:
  // True when every file has a final state.
  bool poll_once() {
    bool done = true;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i].empty() || is_final(files_[i])) continue;
      Json now = parse_answer(waiting_.get(base_ + "/pending-uploads/" + ids_[i]));
      const bool change = now.text("state") != files_[i].text("state");
      if (change && !quiet_) print_state(now);
      changed_ = changed_ || change;
      done = done && is_final(now);
      files_[i] = std::move(now);
    }
    return done;
  }
  static void print_state(const Json& file) {
    print(format_facts({{file.text("name"), describe_state(file)}}, colours()));
  }

  RemoteWait waiting_;
  const std::string base_;
  std::vector<Json>& files_;
  const bool quiet_;
  std::vector<std::string> ids_;  // of files_; empty for a file that the agent keeps itself
  bool changed_ = false;
};

std::string as_json(const Sent& sent) {
  return json_object([&](JsonWriter& out) {
           out.member("workspace_id", sent.to.text());
           out.array("files", sent.files, [&](const Json& file) { out.raw(file.dump()); });
           out.raw_member("message", sent.message.empty() ? "null" : sent.message);
           if (!sent.answer) return;
           out.object("answer", [&] {
             out.member("text", sent.answer->text);
             write_returned(out, sent.returned);
           });
         }) +
         '\n';
}

std::string describe_sent(const SendOptions& options, const std::vector<FormFile>& files) {
  if (files.empty() && options.wait) return "The message is sent; waiting for the agent to take it.\n";
  if (files.empty()) return "The message is kept for the agent and will be there when it asks.\n";
  std::uint64_t bytes = 0;
  for (const FormFile& file : files) bytes += file.size;
  const bool one = files.size() == 1;
  const std::string what = fmt::format("{} {} ({})", files.size(), one ? "file" : "files", format_bytes(bytes));
  if (options.wait) return fmt::format("{} sent; waiting for the agent to take {}.\n", what, one ? "it" : "them");
  return fmt::format("{} {} kept for the agent until it asks; with --wait you see {} being taken.\n", what,
                     one ? "is" : "are", one ? "it" : "them");
}

// Adds to `sent` after every answer: when it throws, `sent` has the files of earlier requests.
void add_uploads(Remote& remote, const std::string& target, const std::vector<FormFile>& files,
                 std::vector<Json>& sent) {
  if (files.empty()) return;
  for (const auto& batch : batch_files(files, parse_answer(remote.get("/uploads/limits")))) {
    client::Form form(batch);
    Progress progress(form.length());
    const Json answer = parse_answer(remote.upload_once(target, form, progress, fresh_key()));
    const auto& uploaded = answer.items("files");
    if (uploaded.size() != batch.size())
      throw CommandFailed(kExitFailed, "the answer to the upload names other files than were sent");
    sent.insert(sent.end(), uploaded.begin(), uploaded.end());
  }
}

SentMessage message_of(const Sent& sent, const Json& answer) {
  return {sent.to, answer.text("activity_id"), answer.whole("seq")};
}

// Returns the exit code.
int take_answer(const SendOptions& options, Remote& remote, Sent& sent) {
  const Json answer = parse_answer(sent.message);
  sent.answer = answer_of_callback(answer);
  if (!sent.answer) {
    RemoteWait waiting(remote, options.timeout,
                       fmt::format("no answer within {} s; the message stays there, and restante chat {} shows the "
                                   "answer when it has come",
                                   options.timeout, sent.to.text()));
    sent.answer = wait_for_answer(waiting, message_of(sent, answer));
  }
  sent.returned = take_files(remote, sent.answer->files, options.save);
  const int saved = all_saved(sent.returned) ? kExitOk : kExitFailed;
  if (options.remote.json) return saved;
  std::string text = sent.answer->text;
  if (::isatty(STDOUT_FILENO) == 1) text = presentable_lines(text);
  if (!text.empty() && text.back() != '\n') text += '\n';
  const int printed = print(text + format_returned(sent.returned, "--save DIR takes it", colours()));
  return std::max(saved, printed);
}

void wait_for_receipt(const SendOptions& options, Remote& remote, const Sent& sent) {
  const Json answer = parse_answer(sent.message);
  if (!answer_of_callback(answer)) {
    RemoteWait waiting(
        remote, options.timeout,
        fmt::format("the agent has not taken the message within {} s; it stays there until the agent asks",
                    options.timeout));
    wait_until_taken(waiting, message_of(sent, answer));
  }
  if (!options.remote.json) print("The agent has taken the message.\n");
}

// Returns the exit code. When it throws, `sent` has what was sent before.
int deliver(const SendOptions& options, Remote& remote, const std::vector<FormFile>& files, Sent& sent) {
  const std::string base = "/workspaces/" + sent.to.text();
  add_uploads(remote, base + "/chat/uploads", files, sent.files);
  sent.message = remote.post_once(base + "/a2a", message_body(options.text, sent.files, fresh_key()), fresh_key());
  // With --reply stdout is the answer, for a script that takes it.
  const bool quiet = options.remote.json || options.reply;
  if (!quiet) print(describe_sent(options, files));
  int code = kExitOk;
  if (options.wait && !files.empty()) {
    FileFollower follower(remote, sent, options.timeout, quiet);
    follower.until_done();
    code = follower.delivered() ? kExitOk : kExitFailed;
  }
  if (options.reply) return std::max(code, take_answer(options, remote, sent));
  if (options.wait && files.empty()) wait_for_receipt(options, remote, sent);
  return code;
}

}  // namespace

std::vector<FormFile> describe_files(const std::vector<std::string>& paths) {
  std::vector<FormFile> files;
  try {
    for (const std::string& path : paths) files.push_back(client::describe_file(path));
  } catch (const client::UnreadableFile& file) {
    throw CommandFailed(kExitFailed, std::string("--file ") + file.what());
  }
  return files;
}

std::vector<Json> upload_files(Remote& remote, const std::string& target, const std::vector<FormFile>& files) {
  std::vector<Json> sent;
  add_uploads(remote, target, files, sent);
  return sent;
}

std::vector<std::vector<FormFile>> batch_files(const std::vector<FormFile>& files, const Json& answer) {
  const auto limits = client::read_limits(answer);
  for (const FormFile& file : files) {
    if (limits.per_file == 0 || file.size <= limits.per_file) continue;
    throw CommandFailed(
        kExitFailed,
        fmt::format("--file {}: has {} bytes ({}), and this server takes at most {} ({}) a file; nothing was sent",
                    file.path, file.size, format_bytes(file.size), limits.per_file, format_bytes(limits.per_file)));
  }
  return client::divide(files, limits);
}

std::string message_body(const std::string& text, const std::vector<Json>& files, const std::string& message_id) {
  return message_call("1", [&](JsonWriter& out) {
    out.member("role", "user");
    out.member("messageId", message_id);
    write_parts(out, text.empty() ? std::nullopt : std::optional<std::string_view>(text), files,
                [&](const Json& file) { write_file_part(out, file); });
  });
}

Cell describe_state(const Json& file) {
  const std::string state = file.text("state");
  const std::string reason = file.text("reason");
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
  if (!options.save.empty() && !options.reply)
    throw CommandFailed(kExitUsage, "--save takes the files of the answer: give --reply, too");
  const auto files = describe_files(options.files);
  check_save_folder(options.save);
  Remote remote(options.remote);
  const bool waits = options.reply || (options.wait && files.empty());
  if (waits && remote.role() == "workspace") {
    throw CommandFailed(kExitNotPermitted,
                        "an agent that is written to by another agent answers into that agent's inbox: to wait here, "
                        "use restante delegate --wait, or the token of a person or of the operator");
  }
  Sent sent{remote.find_workspace_or_own(options.to, "to whom? Give --to WORKSPACE"), {}, {}};
  try {
    const int code = deliver(options, remote, files, sent);
    if (options.remote.json) print(as_json(sent));
    return code;
  } catch (const CommandFailed&) {
    // A script needs the ids of the files that were sent before the failure.
    if (options.remote.json && !sent.files.empty()) print(as_json(sent));
    throw;
  }
}

}  // namespace restante::cli
