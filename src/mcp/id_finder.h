// IdFinder: finds the ids of the requests in a line that cannot be parsed, because it is too long or not JSON that we
// take: without its id a request would never be answered, and its sender would wait. Takes the line piece by piece and
// keeps little of it. The line may be anything, so an id is only what reads as one. Pure; one thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace restante::mcp {

// What was read of one message.
struct ScannedMessage {
  std::string key;  // of the member that was read last, as it is written
  bool key_is_next = true;
  bool method = false;
  int id_keys = 0;
  std::optional<Json> id;

  bool is_request() const { return method && id_keys == 1 && id; }
};

class IdFinder {
 public:
  void add(std::string_view bytes);
  // True when the line is a list of messages.
  bool batch() const { return top_ == '['; }
  // The ids of the messages that have a method and exactly one id, in order. A message may lack its end.
  std::vector<Json> ids() const;

 private:
  void add_outside_string(char c);
  void add_to_string(char c);
  void end_string();
  void end_number();
  void end_message();
  // The message whose members are read now; null outside of one, and inside of its members' values.
  ScannedMessage* current() { return message_ && depth_ == level() ? &*message_ : nullptr; }
  std::size_t level() const { return batch() ? 2 : 1; }

  char top_ = '\0';  // how the line begins: { or [
  std::size_t depth_ = 0;
  bool in_string_ = false, escaped_ = false, in_number_ = false;
  std::string token_;  // the string or number that is read now, if it may be an id or a key
  std::optional<ScannedMessage> message_;
  std::vector<Json> ids_;
};

}  // namespace restante::mcp
