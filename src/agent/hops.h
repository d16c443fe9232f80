// Hops: stops two agents that answer each other automatically. The metadata of a message contains how many automatic
// answers led to it; after eight there is no further one. The software of some peers does not send that number. For
// them the state counts: at most eight answers to messages that they wrote within an hour, also after a restart. Pure
// functions.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace restante::agent {

// An automatic answer to an agent whose message had no number of hops.
struct AutomaticAnswer {
  std::string peer;
  std::string created_at;  // of the message, by the server's clock
};

inline constexpr std::int64_t kMostHops = 8;

// The number of hops for the answer to a message with `hops`; no value when there must be no answer.
std::optional<std::int64_t> next_hop(const std::deque<AutomaticAnswer>& answered, const std::string& peer,
                                     std::int64_t hops, const std::string& created_at);

// Adds an answer, and drops those that no longer count.
void remember(std::deque<AutomaticAnswer>& answered, AutomaticAnswer answer);

}  // namespace restante::agent
