// State: what the agent must know after a kill at any moment: how far it has read, which files it was told of and where
// they lie, what was handed over, which replies are not sent yet. A value that changes by lines of JSON alone, each of
// which holds what belongs together: the same line that changes it in memory is what the journal keeps, so that
// replaying the journal gives the same state. A State belongs to one thread.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/hops.h"
#include "agent/landing_folder.h"
#include "base/json.h"

namespace restante::agent {

// A file that the inbox announced.
struct FileRecord {
  enum class Where {
    waiting,  // not here yet; tried again
    landed,   // at `path`, verified
    gone,     // the server has it no more: expired, recalled, or taken by another
    refused,  // will never be taken: larger than allowed, or its bytes are wrong time and again
  };
  AnnouncedFile announced;
  std::string uri;  // platform-pending:<workspace>/<file>
  std::string row_id;
  std::int64_t seq = 0;
  std::string created_at;
  Where where = Where::waiting;
  std::string path;
  std::string trouble;       // why it is not here, in a word: missing, failed, expired, recalled, gone
  std::string reason;        // the same as a sentence
  bool acked = false;        // the server knows
  bool reported = false;     // the server knows of the trouble
  bool handed_over = false;  // alone, or with a message that names it
  bool notified = false;     // the agent knows of the trouble
};

// What the agent said, on its way to where it belongs.
struct Reply {
  enum class To { person, agent, delegation };
  std::string key;  // the same for every attempt
  std::string text;
  To to = To::person;
  std::string target;     // of an agent: its workspace; of a delegation: its id
  std::int64_t hops = 0;  // of an agent: how many automatic answers led to this one, itself included
  bool failed = false;    // of a delegation: it could not be done
  std::string files{};    // the folder of those that go with it; empty: none do
};

struct State {
  std::string server;     // its address
  std::string workspace;  // its id
  std::string enrolled;   // which enrolment token was used, as a hash
  std::int64_t cursor = 0;
  bool started = false;          // the cursor means something, even 0
  std::deque<FileRecord> files;  // oldest first
  std::deque<Reply> outbox;
  std::vector<std::string> begun;  // deliveries of which no end is known
  struct Handled {
    std::string id;
    std::string created_at;
  };
  std::deque<Handled> recent;  // the rows handled last, for the day the server forgets our cursor
  std::deque<AutomaticAnswer> answered;

  FileRecord* find(FileId id);
  const FileRecord* find(FileId id) const;
  bool has_begun(const std::string& delivery) const;
  // The row was handled: it is among the recent ones, or older than all of them.
  bool has_seen(const std::string& row_id, const std::string& created_at) const;

  // False, and nothing has changed, when the line is not one of those below.
  bool apply(const Json& line);

  std::string dump() const;
  // No value when the text is not a state.
  static std::optional<State> parse(const std::string& text);
};

// The lines.
namespace change {
std::string identity(std::string_view server, std::string_view workspace, std::string_view enrolled);
std::string cursor(std::int64_t seq);
std::string announced(const FileRecord& file);
// What a courier knows: where, path, trouble, reason, acked and reported.
std::string file_updated(const FileRecord& file);
std::string begun(std::string_view id);
// The end of a delivery: the files that went with it, those of which the agent now knows the trouble, and the answer.
struct DeliveryEnd {
  std::string id;
  std::string created_at;
  std::vector<FileId> files;
  std::vector<FileId> notified;
  std::optional<Reply> reply;
};
std::string handed(const DeliveryEnd& end);
std::string sent(std::string_view key);
}  // namespace change

std::string_view name_of(FileRecord::Where where);
std::string_view name_of(Reply::To to);
// The file that a uri platform-pending:<workspace>/<file> names, in any letter case; no value for any other uri.
std::optional<FileId> pending_file(std::string_view uri);

}  // namespace restante::agent
