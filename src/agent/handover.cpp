#include "agent/handover.h"

#include <fmt/format.h>

#include "agent/exec.h"
#include "agent/files.h"
#include "agent/result_files.h"
#include "base/mutex.h"
#include "base/utf8.h"

namespace restante::agent {
namespace {

class LineHandover final : public Handover {
 public:
  LineHandover(int descriptor, LineFormat lines) : descriptor_(descriptor), lines_(lines) {}
  HandoverResult deliver(const Delivery& delivery) override { return write(delivery); }
  HandoverResult skip_ended(const Delivery& ended) override { return write(ended); }

 private:
  HandoverResult write(const Delivery& delivery) const {
    const auto text = (lines_ == LineFormat::json ? delivery.json() : readable(delivery)) + "\n";
    const auto written = write_all(descriptor_, text);
    if (written.has_error()) return {HandoverResult::What::closed, {}, written.error().sentence};
    return {};
  }

  int descriptor_;
  LineFormat lines_;
};

// The output as a reply: without NUL, which our JSON does not accept, and without blank lines at its end.
std::string reply_of(std::string output) {
  std::erase(output, '\0');
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r' || output.back() == ' ')) output.pop_back();
  return output;
}

class CommandHandover final : public Handover {
 public:
  CommandHandover(std::string command, std::string runs, const Stop& stop, CommandOptions options)
      : command_(std::move(command)), runs_(std::move(runs)), stop_(stop), options_(std::move(options)) {}
  HandoverResult deliver(const Delivery& delivery) override {
    // A failed run is forgotten before the next attempt. Only a run whose end was not yet used is continued.
    const auto given_up = begin(delivery);
    auto run_result = run(delivery, *given_up);
    switch (run_result.how) {
      case CommandResult::How::exited:
        if (run_result.code == 0) return answer_of(delivery, std::move(run_result));
        forget_everything(delivery);
        return failure_of(run_result);
      case CommandResult::How::killed:
        forget_everything(delivery);
        return {HandoverResult::What::failed, {}, run_result.trouble, {}, run_result.errors};
      case CommandResult::How::not_started:
        return {HandoverResult::What::failed, {}, "the command could not be started: " + run_result.trouble};
      case CommandResult::How::stopped:
        return {HandoverResult::What::stopped, {}, {}};
      case CommandResult::How::given_up:
        forget_everything(delivery);
        return {HandoverResult::What::dropped, {}, end_of(delivery, run_result)};
    }
    return {};
  }
  HandoverResult skip_ended(const Delivery& ended) override {
    const bool begun = has_begun(ended);
    Stop give_up;
    give_up.request();
    auto run_result = run(ended, give_up);
    if (run_result.how == CommandResult::How::stopped) return {HandoverResult::What::stopped, {}, {}};
    if (run_result.how == CommandResult::How::exited && run_result.code == 0)
      return answer_of(ended, std::move(run_result));
    forget_everything(ended);
    if (begun) return {HandoverResult::What::dropped, {}, end_of(ended, run_result)};
    return Handover::skip_ended(ended);
  }
  bool has_begun(const Delivery& delivery) const override { return has_run(runs_, delivery.id); }
  bool returns_when_done() const override { return true; }
  void ended(const Delivery& delivery) override { forget_run(runs_, delivery.id); }
  void give_up(const std::string& delegation) override {
    const MutexLock lock(mutex_);
    if (given_up_ && delegation == task_) given_up_->request();
  }

 private:
  static HandoverResult failure_of(const CommandResult& result) {
    // As every shell reports it: 127 not found, 126 not executable.
    if (result.code == 126 || result.code == 127)
      return {
          HandoverResult::What::unusable, {}, "the command cannot be run: it ended with " + describe_code(result.code)};
    return {
        HandoverResult::What::failed, {}, "the command ended with " + describe_code(result.code), {}, result.errors};
  }

  // A task whose command wrote nothing is done too, and its caller waits for a result.
  HandoverResult answer_of(const Delivery& delivery, CommandResult run_result) const {
    const auto whole = run_result.cut ? attach_output(runs_, delivery.id) : std::string();
    const auto mark = whole.empty() ? "\n[cut]" : "\n[cut; all of it is in " + whole + "]";
    HandoverResult result{
        HandoverResult::What::handled, reply_of(std::move(run_result.output)) + (run_result.cut ? mark : ""), {}};
    const auto folder = result_folder(runs_, delivery.id);
    const auto left = find_result_files(folder);
    if (!left.files.empty() || !left.refused.empty()) result.files = folder;
    if (is_task(delivery) && result.reply.empty() && left.files.empty())
      result.reply = "Done; the command wrote no output.";
    return result;
  }

  static std::string end_of(const Delivery& delivery, const CommandResult& run_result) {
    return "the command of task " + delivery.delegation_id +
           (run_result.trouble.empty() ? " was ended" : ": " + run_result.trouble);
  }

  void forget_everything(const Delivery& delivery) const {
    discard_folder(result_folder(runs_, delivery.id));
    forget_run(runs_, delivery.id);
  }

  CommandResult run(const Delivery& delivery, const Stop& give_up) const {
    return run_command({command_, runs_, delivery.id, delivery.json() + "\n", options_.longest, options_.print_line},
                       stop_, give_up);
  }

  std::shared_ptr<const Stop> begin(const Delivery& delivery) {
    const MutexLock lock(mutex_);
    task_ = delivery.type == "message" ? delivery.delegation_id : std::string();
    given_up_ = std::make_shared<Stop>();
    return given_up_;
  }

  std::string command_, runs_;
  const Stop& stop_;
  const CommandOptions options_;
  Mutex mutex_;  // another thread may give up the task in progress
  std::string task_ RESTANTE_GUARDED_BY(mutex_);
  std::shared_ptr<Stop> given_up_ RESTANTE_GUARDED_BY(mutex_);
};

// Text for a terminal: further lines are indented, control characters become `?`.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : presentable(text, '?', "\n\t")) out += c == '\n' ? "\n    " : std::string(1, c);
  return out;
}

}  // namespace

HandoverResult Handover::skip_ended(const Delivery& ended) {
  return {HandoverResult::What::dropped,
          {},
          fmt::format("task {} is over and is not begun: {}", ended.delegation_id, ended.reason)};
}

std::string human_size(std::int64_t bytes) {
  if (bytes < 1024) return bytes == 1 ? "1 byte" : fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", size, unit);
}

std::string readable(const Delivery& delivery) {
  auto line = delivery.created_at + " ";
  if (delivery.type == "file") {
    line += "file";
  } else if (delivery.type == "ended") {
    line += fmt::format("task {} from agent {} is over before it was begun ({}): {}", shown(delivery.delegation_id),
                        shown(delivery.source_id.value_or("")), shown(delivery.reason), shown(delivery.text));
  } else {
    line += delivery.type + (delivery.source_id ? " from agent " + shown(*delivery.source_id) : " from the person") +
            ": " + shown(delivery.text);
  }
  for (const auto& file : delivery.files) {
    line += delivery.type == "file" ? " " : "\n    ";
    line += shown(file.name);
    if (file.size) line += " (" + human_size(*file.size) + ")";
    line += file.path.empty() ? " [" + file.state + (file.reason.empty() ? "]" : ": " + shown(file.reason) + "]")
                              : " " + shown(file.path);
  }
  return line;
}

std::unique_ptr<Handover> hand_over_lines(int descriptor, LineFormat lines) {
  return std::make_unique<LineHandover>(descriptor, lines);
}
std::unique_ptr<Handover> hand_over_to(std::string command, std::string runs, const Stop& stop,
                                       CommandOptions options) {
  return std::make_unique<CommandHandover>(std::move(command), std::move(runs), stop, std::move(options));
}

}  // namespace restante::agent
