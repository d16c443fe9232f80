// Answers: the messages of an agent in the chat with its people, as the commands read them from the inbox. Pure, except
// wait_for_answer().
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/remote/wait.h"

namespace restante::cli {

struct Answer {
  std::string text;
  Json::Array files;     // file parts as the server names them
  std::string reply_to;  // the inbox row that the agent answers; empty: it did not say
};

// The agent's message in an inbox row; no value for any other row.
std::optional<Answer> answer_in(const Json& row);
// The answer of a callback to a message, as /a2a returned it; no value when the message waits in the inbox instead.
std::optional<Answer> answer_of_callback(const Json& answer);

// A message that was sent: its row in the agent's inbox.
struct SentMessage {
  WorkspaceId to;
  std::string row;
  std::int64_t seq = 0;
};

// The first message of the agent after this one that answers it. A message of which the agent did not say what it
// answers counts, because not every agent says it. Throws CommandFailed with 75 when the time is up.
Answer wait_for_answer(RemoteWait& waiting, const SentMessage& message);
// Waits until the agent has taken the message. Throws the same.
void wait_until_taken(RemoteWait& waiting, const SentMessage& message);

}  // namespace restante::cli
