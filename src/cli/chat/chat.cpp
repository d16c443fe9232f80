#include "cli/chat/chat.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "agent/stop.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "cli/agent/setup.h"
#include "cli/chat/answers.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/terminal.h"
#include "cli/uploads/save.h"
#include "cli/uploads/send.h"

namespace restante::cli {
namespace {

constexpr int kHoldSeconds = 25;
constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{10'000};
constexpr std::string_view kHelp =
    "  /file PATH [TEXT]  send a file, with a text if you like; a path with spaces in quotes\n"
    "  /save [DIR]        save the files of the last answer that had some; default: here\n"
    "  /quit              end (or Ctrl-D)\n"
    "  //…                a message that begins with a slash\n";

std::string word_of(std::string_view& rest) {
  rest = trim(rest);
  const char quote = rest.empty() ? ' ' : rest.front();
  const bool quoted = quote == '"' || quote == '\'';
  if (quoted) rest.remove_prefix(1);
  const auto end = std::min(rest.find(quoted ? quote : ' '), rest.size());
  std::string word(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

// Hours and minutes where the person is; empty when it is no time.
std::string local_time(std::string_view at) {
  const auto time = parse_time(at);
  if (!time) return {};
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
  std::tm parts{};
  if (!localtime_r(&seconds, &parts)) return {};
  return fmt::format("{:02}:{:02}", parts.tm_hour, parts.tm_min);
}

// The shell does not see what is typed here.
std::string with_home(std::string path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home && *home ? home + path.substr(1) : path;
}

// A conversation: one thread reads what is typed and sends it, another reads the inbox and prints it.
class Conversation {
 public:
  Conversation(const ChatOptions& options, agent::Stop& stop)
      : options_(options),
        stop_(stop),
        remote_(options.remote),
        live_(options.remote),
        editor_("> ", stop.descriptor()) {}

  int run() {
    if (remote_.role() == "workspace") {
      throw CommandFailed(kExitNotPermitted,
                          "a chat is between people and an agent: this takes the token of a person (restante invite "
                          "--sender) or of the operator, not an agent's");
    }
    to_.emplace(remote_.find_workspace_or_own(options_.with, "with whom? Give the agent's workspace: id or name"));
    base_ = "/workspaces/" + to_->text();
    const Json workspace = parse_answer(remote_.get(base_));
    name_ = presentable(workspace.text("name"), ' ');
    begin(workspace);
    std::thread reader([this] { follow(); });
    while (const auto line = editor_.read()) {
      if (!handle(*line)) break;
    }
    stop_.request();
    live_.cancel();
    reader.join();
    return failed_ ? kExitFailed : kExitOk;
  }

 private:
  // The newest row first, then the history: what comes in between is in both, and shown once.
  void begin(const Json& workspace) {
    const auto newest = parse_list(remote_.get(base_ + "/activity?limit=1"));
    if (!newest.empty()) since_ = newest.front().whole("seq");
    const Json history = parse_answer(remote_.get(fmt::format("{}/chat-history?limit={}", base_, options_.history)));
    if (options_.remote.json) return;
    for (const Json& message : history.items("messages")) {
      shown_.insert(message.text("id"));
      show(message.text("timestamp"), message.text("role") == "agent" ? name_ : "you", message.text("content"),
           message.items("attachments"), Downloads::later);
    }
    const std::string seen = format_ago(workspace.text("last_heartbeat_at"), SystemClock().now());
    editor_.print_above(fmt::format("{} is {}{}. /help shows the commands, Ctrl-D ends.\n", name_,
                                    presentable(workspace.text("status"), ' '),
                                    seen.empty() ? "" : ", last seen " + seen));
  }

  enum class Downloads { now, later };
  void show(const std::string& at, const std::string& who, const std::string& text, const Json::Array& files,
            Downloads downloads) {
    std::string lines = format_chat_message(at, who, text, colours());
    if (who == name_ && !files.empty()) {
      const MutexLock lock(mutex_);
      last_files_ = files;
    }
    if (who == name_) {
      Remote& remote = downloads == Downloads::now ? live_ : remote_;
      const auto returned = take_files(remote, files, downloads == Downloads::now ? options_.save : std::string());
      lines += indented(format_returned(returned, "/save takes it", colours()));
    } else {
      for (const Json& file : files) lines += indented(fmt::format("file  {}\n", presentable(file.text("name"), ' ')));
    }
    editor_.print_above(lines);
  }

  static std::string indented(const std::string& lines) {
    std::string out;
    for (const auto& line : split(lines, '\n')) {
      if (!line.empty()) out += "      " + std::string(line) + "\n";
    }
    return out;
  }

  // Everything that comes, until the end. A connection that breaks is made again.
  void follow() {
    auto pause = kFirstPause;
    bool lost = false;
    while (!stop_.requested()) {
      try {
        const auto rows =
            parse_list(live_.get(fmt::format("{}/activity?since_seq={}&wait={}", base_, since_, kHoldSeconds)));
        if (lost) editor_.print_above("(connected again)\n");
        lost = false;
        pause = kFirstPause;
        for (const Json& row : rows) take(row);
        if (rows.empty()) stop_.wait_for(std::chrono::milliseconds(200));  // a server that ends answers at once
      } catch (const CommandFailed& failure) {
        if (stop_.requested()) return;
        const bool passes = failure.exit_code() == kExitUnavailable || failure.exit_code() == kExitTryAgain;
        if (!lost) editor_.print_above(fmt::format("({})\n", presentable(failure.what(), ' ')));
        lost = true;
        if (!passes) {
          failed_ = true;
          stop_.request();
          return;
        }
        stop_.wait_for(pause);
        pause = std::min(pause * 2, kLongestPause);
      }
    }
  }

  void take(const Json& row) {
    since_ = row.whole("seq");
    const std::string id = row.text("id"), method = row.text("method");
    if (shown_.contains(id)) return;
    if (options_.remote.json) return editor_.print_above(row.dump() + "\n");
    if (const auto answer = answer_in(row))
      return show(row.text("created_at"), name_, answer->text, answer->files, Downloads::now);
    if (method == "chat_upload_acked" || method == "chat_upload_failed") return show_receipt(row);
    if (method != "message/send" || !row.text("source_id").empty()) return;
    const Json* params = row.find("request_body") ? row.find("request_body")->find("params") : nullptr;
    const Json* message = params ? params->find("message") : nullptr;
    if (!message || is_own(message->text("messageId"))) return;
    const auto content = answer_of_callback(Json::object({{"result", *message}}));
    show(row.text("created_at"), "another person", content->text, content->files, Downloads::later);
  }

  bool is_own(const std::string& message_id) {
    const MutexLock lock(mutex_);
    return own_.erase(message_id) > 0;
  }

  void show_receipt(const Json& row) {
    const Json* facts = row.find("request_body");
    if (!facts) return;
    const std::string name = presentable(facts->text("name"), ' ');
    const bool taken = row.text("method") == "chat_upload_acked";
    editor_.print_above(taken ? fmt::format("      ({} has taken {})\n", name_, name)
                              : fmt::format("      ({} could not take {}: {})\n", name_, name,
                                            presentable(facts->text("reason"), ' ')));
  }

  // False: the person wants to end.
  bool handle(const std::string& line) {
    const ChatInput input = parse_chat_input(line);
    try {
      switch (input.what) {
        case ChatInput::What::nothing:
          break;
        case ChatInput::What::message:
          send(input.text, {});
          break;
        case ChatInput::What::file:
          send(input.text, {with_home(input.value)});
          break;
        case ChatInput::What::save:
          save(with_home(input.value));
          break;
        case ChatInput::What::help:
          editor_.print_above(kHelp);
          break;
        case ChatInput::What::quit:
          return false;
        case ChatInput::What::unknown:
          editor_.print_above(
              fmt::format("There is no command {}. These are:\n{}", presentable(input.value, ' '), kHelp));
          break;
      }
    } catch (const CommandFailed& failure) {
      failed_ = failed_ || ::isatty(STDIN_FILENO) != 1;
      editor_.print_above(fmt::format("(not sent: {})\n", presentable(failure.what(), ' ')));
    }
    return true;
  }

  void send(const std::string& text, const std::vector<std::string>& paths) {
    const auto files = upload_files(remote_, base_ + "/chat/uploads", describe_files(paths));
    const std::string id = fresh_key();
    {
      const MutexLock lock(mutex_);
      own_.insert(id);
    }
    const Json answer = parse_answer(remote_.post_once(base_ + "/a2a", message_body(text, files, id), fresh_key()));
    if (options_.remote.json) return;
    const auto now = format_time(SystemClock().now());
    Json::Array sent(files.begin(), files.end());
    if (::isatty(STDIN_FILENO) == 1) show(now, "you", text, sent, Downloads::later);
    if (const auto answered = answer_of_callback(answer))
      show(now, name_, answered->text, answered->files, Downloads::later);
  }

  void save(const std::string& folder) {
    check_save_folder(folder);
    Json::Array files;
    {
      const MutexLock lock(mutex_);
      files = last_files_;
    }
    if (files.empty()) return editor_.print_above("No answer had files.\n");
    editor_.print_above(indented(format_returned(take_files(remote_, files, folder), {}, colours())));
  }

  const ChatOptions& options_;
  agent::Stop& stop_;
  Remote remote_;  // of the thread that sends
  Remote live_;    // of the thread that reads
  LineEditor editor_;
  std::optional<WorkspaceId> to_;
  std::string base_, name_;
  std::int64_t since_ = 0;       // of the reading thread, once it runs
  std::set<std::string> shown_;  // ids of the history
  std::atomic<bool> failed_{false};

  Mutex mutex_;
  std::set<std::string> own_ RESTANTE_GUARDED_BY(mutex_);  // message ids of what was typed here
  Json::Array last_files_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace

ChatInput parse_chat_input(std::string_view line) {
  using What = ChatInput::What;
  const std::string_view text = trim(line);
  if (text.empty()) return {};
  if (!text.starts_with('/')) return {What::message, std::string(text), {}};
  if (text.starts_with("//")) return {What::message, std::string(text.substr(1)), {}};
  std::string_view rest = text;
  const std::string command = word_of(rest);
  if (command == "/help") return {What::help, {}, {}};
  if (command == "/quit" || command == "/exit") return {What::quit, {}, {}};
  if (command == "/save") {
    std::string folder = word_of(rest);
    return {What::save, {}, folder.empty() ? "." : std::move(folder)};
  }
  if (command == "/file") {
    std::string path = word_of(rest);
    if (!path.empty()) return {What::file, std::string(trim(rest)), std::move(path)};
  }
  return {What::unknown, {}, command};
}

std::string format_chat_message(std::string_view at, std::string_view who, std::string_view text, Colours colours) {
  const std::string clock = local_time(at);
  const bool coloured = colours == Colours::on;
  std::string out =
      fmt::format("{}{} {}{}:", coloured ? "\x1b[1m" : "", clock, presentable(who, ' '), coloured ? "\x1b[0m" : "");
  bool first = true;
  const std::string body = presentable_lines(text);
  for (const auto& line : split(body, '\n')) {
    out += first ? " " : "\n      ";
    out += line;
    first = false;
  }
  while (out.ends_with(' ') || out.ends_with('\n')) out.pop_back();
  return out + "\n";
}

int chat(const ChatOptions& options) {
  check_save_folder(options.save);
  Conversation conversation(options, stop_on_signals());
  return conversation.run();
}

}  // namespace restante::cli
