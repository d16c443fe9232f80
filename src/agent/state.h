// State: what the agent must know after a kill at any moment: how far it has read, which files it was told of and where
// they lie, which replies are not sent yet. One JSON file, replaced as a whole. The rule that keeps hand-overs from
// being lost: the cursor is saved only together with what it passed. A State belongs to one thread.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "agent/files.h"
#include "agent/landing.h"

namespace restante::agent {

// A file that the inbox announced.
struct FileRecord {
  enum class Where {
    waiting,  // not here yet; tried again
    landed,   // at `path`, verified
    gone,     // the server has it no more: expired, recalled, or taken by another
  };
  Parcel parcel;
  std::string uri;  // platform-pending:<workspace>/<file>
  std::string row_id;
  std::int64_t seq = 0;
  std::string created_at;
  Where where = Where::waiting;
  std::string path;
  std::string trouble;       // why it is not here, in a word: missing, failed, expired, recalled, gone
  bool acked = false;        // the server knows
  bool reported = false;     // the server knows of the trouble
  bool handed_over = false;  // alone, or with a message that names it
};

struct Reply {
  std::string key;  // the same for every attempt
  std::string text;
};

struct State {
  std::string server;     // its address
  std::string workspace;  // its id
  std::string enrolled;   // which enrolment token was used, as a hash
  std::int64_t cursor = 0;
  std::deque<FileRecord> files;  // oldest first
  std::vector<Reply> outbox;
  std::deque<std::string> recent;  // ids of the rows handled last, for the day the server forgets our cursor

  FileRecord* find(const std::string& uri);
  bool has_seen(const std::string& row_id) const;
  void remember(const std::string& row_id);
  // Forgets the oldest finished files beyond a bound.
  void trim();

  std::string dump() const;
  // No value when the text is not a state.
  static std::optional<State> parse(const std::string& text);
};

std::string_view name_of(FileRecord::Where where);

}  // namespace restante::agent
