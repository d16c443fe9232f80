// Handover: how a delivery reaches the agent: as a line, by a command, or by MCP. deliver() returns the result; only
// after `handled` or `dropped` does the cursor move on. One thread, except give_up().
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/delivery.h"
#include "agent/stop.h"

namespace restante::agent {

struct HandoverResult {
  enum class What {
    handled,
    failed,     // try again; the reason is in `trouble`
    stopped,    // stop was requested meanwhile
    not_taken,  // the receiver left or put it back: for the next receiver, if still wanted then
    closed,     // our output has no reader any more
    dropped,    // given up and not repeated, see give_up(); the reason is in `trouble`
    unusable,   // nothing can be handed over now, and this is not the delivery's fault: try again, however often
  } what = What::handled;
  std::string reply;  // to the sender; empty: none
  std::string trouble;
  std::string files{};   // folder of the reply's files, see result_files.h; empty: none
  std::string errors{};  // of failed: what the command wrote last, for the sender
};

class Handover {
 public:
  virtual ~Handover() = default;
  // Called before the next delivery is chosen and recorded as begun. Returns once a receiver can take one; false: stop
  // was requested meanwhile. Lines and commands can always take one.
  virtual bool wait_for_receiver() { return true; }
  // True when a receiver can take a delivery now.
  virtual bool has_receiver() const { return true; }
  virtual HandoverResult deliver(const Delivery& delivery) = 0;
  // Instead of deliver(), for a task that ended before it was begun (type `ended`): no work is started for it.
  virtual HandoverResult skip_ended(const Delivery& ended);
  // True when an earlier agent process has begun work for it that is not lost.
  virtual bool has_begun(const Delivery& delivery) const {
    (void)delivery;
    return false;
  }
  // True when deliver() returns only after the work is done, so that the task is in progress until then. With lines and
  // MCP the receiver only gets the delivery.
  virtual bool returns_when_done() const { return false; }
  // The delivery's end is recorded: it will not be delivered again, and whatever was kept for that case can be deleted.
  virtual void ended(const Delivery& delivery) { (void)delivery; }
  // From any thread: the task was cancelled or is overdue, so the work for it is not wanted any more.
  virtual void give_up(const std::string& delegation) { (void)delegation; }
};

// A line for a person: time, sender, text; a file with its size and path. Control characters are replaced.
std::string readable(const Delivery& delivery);
// 1.5 MiB, 12 bytes.
std::string human_size(std::int64_t bytes);

// Writes lines to a descriptor that the caller keeps open: readable ones, or one JSON object each. A task that is
// skipped is a line, too, of type `ended`.
enum class LineFormat { readable, json };
std::unique_ptr<Handover> hand_over_lines(int descriptor, LineFormat lines);
// Runs the command with the delivery as JSON on its stdin. Exit code 0 means handled, and its stdout is the reply.
// `runs` is the folder for the files of runs (see exec.h). When a task is given up, its command is ended. When a task
// is skipped, the command that an earlier agent process began for it is ended, unless it has exited with 0: then its
// output is the late reply.
// An exit code of 126 or 127 means that the command could not be run, so that no delivery is given up because of it.
struct CommandOptions {
  std::chrono::milliseconds longest{0};                     // of one run; 0: no limit
  std::function<void(std::string_view line)> print_line{};  // empty: nothing is printed
};
std::unique_ptr<Handover> hand_over_to(std::string command, std::string runs, const Stop& stop,
                                       CommandOptions options = {});

}  // namespace restante::agent
