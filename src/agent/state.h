// State: what the agent must know after a kill at any moment: its position in the inbox, the announced files and where
// they are, the deliveries handed over, the replies not yet sent. It changes only by JSON lines, each of which is one
// complete change. The journal has the same lines, so replaying the journal gives the same state. One thread.
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
    waiting,  // not downloaded yet; tried again
    landed,   // at `path`, verified
    gone,     // the server no longer has it: expired, recalled, or acked by another process
    refused,  // given up: larger than allowed, or its content was wrong several times
  };
  AnnouncedFile announced;
  std::string uri;  // platform-pending:<workspace>/<file>
  std::string row_id;
  std::int64_t seq = 0;
  std::string created_at;
  Where where = Where::waiting;
  std::string path;
  std::string trouble;       // why it has not landed: missing, failed, expired, recalled, gone
  std::string reason;        // the same as a sentence
  bool acked = false;        // the server has our ack
  bool reported = false;     // the server has our report of the trouble
  bool handed_over = false;  // alone, or with a message that names it
  bool notified = false;     // the agent was notified of the trouble
};

// An answer of the agent that is to be sent.
struct Reply {
  enum class To { person, agent, delegation };
  std::string key;  // the same for every attempt
  std::string text;
  To to = To::person;
  std::string target;     // To::agent: its workspace; To::delegation: its id
  std::int64_t hops = 0;  // To::agent: how many automatic answers led to this one, itself included
  bool failed = false;    // To::delegation: the task failed
  std::string files{};    // folder of the files to send with it; empty: none
  std::string row{};      // To::person: the inbox row that it answers; empty: not known
};

// A position in the inbox: after this row. The number alone is not enough: when an older copy of the server's database
// is restored, numbers are given to other rows, and the messages in between would be skipped.
struct Position {
  std::int64_t seq = 0;
  std::string row;  // id of the row with that number; empty: not known
};

// Where a delivery came from, if not from a person: what is needed to answer it later.
struct Origin {
  std::string id;  // of the delivery
  std::string created_at;
  std::string source_id;      // the workspace of the sending agent
  std::string delegation_id;  // of a task; empty: a message
  std::int64_t hops = 0;
};

struct State {
  std::string server;     // its address
  std::string workspace;  // its id
  std::string enrolled;   // hash of the enrolment token that was used
  std::int64_t cursor = 0;
  std::string cursor_row;        // id of that row; empty: not known
  bool started = false;          // the cursor is set, even if it is 0
  std::deque<FileRecord> files;  // oldest first
  std::deque<Reply> outbox;
  std::vector<std::string> begun;  // deliveries without a recorded end
  struct Handled {
    std::string id;
    std::string created_at;
  };
  std::deque<Handled> recent;  // the rows handled last, for when the server no longer knows our cursor
  std::deque<AutomaticAnswer> answered;
  std::deque<Origin> origins;  // of the deliveries in `recent` that came from agents

  FileRecord* find(FileId id);
  const FileRecord* find(FileId id) const;
  bool has_begun(const std::string& delivery) const;
  // True when the row was handled: it is in `recent`, or older than all of them.
  bool has_seen(const std::string& row_id, const std::string& created_at) const;
  // Where a delivery that was handed over came from; with an empty source_id: from a person. No value when it is not
  // known any more.
  std::optional<Origin> origin_of(const std::string& delivery) const;

  // False, and nothing has changed, when the line is none of those in namespace change.
  bool apply(const Json& line);

  std::string dump() const;
  // No value when the text is not a state.
  static std::optional<State> parse(const std::string& text);
};

// The JSON lines for State::apply.
namespace change {
std::string identity(std::string_view server, std::string_view workspace, std::string_view enrolled);
std::string cursor(std::int64_t seq, std::string_view row = {});
std::string announced(const FileRecord& file);
// What a download changes: where, path, trouble, reason, acked and reported.
std::string file_updated(const FileRecord& file);
std::string begun(std::string_view id);
// The end of a delivery: the files handed over with it, the files whose trouble the agent was notified of, and the
// answer.
struct DeliveryEnd {
  std::string id;
  std::string created_at;
  std::vector<FileId> files;
  std::vector<FileId> notified;
  std::optional<Reply> reply;
  std::optional<Origin> origin{};  // if it came from an agent
};
std::string delivery_ended(const DeliveryEnd& end);
// An answer that comes after the end of its delivery, or to none.
std::string replied(const Reply& reply, std::string_view created_at);
std::string sent(std::string_view key);
}  // namespace change

// The file that a uri platform-pending:<workspace>/<file> names, in any letter case; no value for any other uri.
std::optional<FileId> pending_file(std::string_view uri);

}  // namespace restante::agent
