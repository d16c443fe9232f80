// Handover: how a delivery reaches the agent; the person's choice. Each deliver() says what came of it, and only
// `handled` or `dropped` lets the cursor pass. Belongs to one thread, give_up() apart.
#pragma once
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
    failed,     // worth another attempt; `trouble` says why
    stopped,    // the agent was told to stop meanwhile
    not_taken,  // whoever was to take it has left, or has put it back: for the next one, if it is wanted then
    closed,     // nobody reads us any more
    dropped,    // given up, and to be forgotten: see give_up(); `trouble` says so
  } what = What::handled;
  std::string reply;  // to the sender; empty: none
  std::string trouble;
  std::string files{};  // the folder of what goes with the reply, see result_files.h; empty: nothing does
};

class Handover {
 public:
  virtual ~Handover() = default;
  // Called before the next delivery is chosen and written down as begun: returns once somebody is there to take one.
  // False: the agent was told to stop meanwhile. Lines and commands are always there.
  virtual bool wait_for_receiver() { return true; }
  // Somebody is there just now.
  virtual bool has_receiver() const { return true; }
  virtual HandoverResult deliver(const Delivery& delivery) = 0;
  // Instead of deliver(), for a task that was over before it was begun (type `ended`): nothing is begun for it.
  virtual HandoverResult skip_ended(const Delivery& ended);
  // Something was begun for it before, by an earlier agent, and is not lost.
  virtual bool has_begun(const Delivery& delivery) const {
    (void)delivery;
    return false;
  }
  // Whether deliver() returns only when the work is done, so that a task is worked on meanwhile; lines and whoever
  // takes from us only get it.
  virtual bool returns_when_done() const { return false; }
  // Its end is written down: it will not come again, and whatever was kept for that case can go.
  virtual void ended(const Delivery& delivery) { (void)delivery; }
  // From any thread: the task was cancelled or is overdue, so that nobody waits for what is being done for it.
  virtual void give_up(const std::string& delegation) { (void)delegation; }
};

// A line for a person: when, from whom, what; a file with its size and path. Control characters are shown, never sent.
std::string readable(const Delivery& delivery);
// 1.5 MiB, 12 bytes.
std::string human_size(std::int64_t bytes);

// Lines to a descriptor that the caller keeps open: readable ones, or one JSON object each. A task that is passed over
// is a line, too, of its own type.
enum class LineFormat { readable, json };
std::unique_ptr<Handover> hand_over_lines(int descriptor, LineFormat lines);
// Runs the command with the delivery as JSON on its stdin. Exit code 0 means handled, and its stdout is the reply.
// `runs` is a folder for what is under way (see exec.h). A task that is given up ends its command; one that is passed
// over ends what an earlier agent began for it, unless that had come to a good end: then that is its late answer.
std::unique_ptr<Handover> hand_over_to(std::string command, std::string runs, const Stop& stop);

}  // namespace restante::agent
