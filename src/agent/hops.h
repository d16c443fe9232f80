// Hops: keeps two agents that answer each other automatically from talking for ever. A message carries in its metadata
// how many automatic answers led to it; beyond eight there is none. A peer whose software knows nothing of that is
// counted by what the state remembers, so that a restart begins no new count: eight answers to what it wrote within an
// hour. Pure functions.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace restante::agent {

// An automatic answer to an agent whose message did not say what led to it.
struct AutomaticAnswer {
  std::string peer;
  std::string created_at;  // of that message, by the server's clock
};

inline constexpr std::int64_t kMostHops = 8;

// The number that the answer to a message with `hops` shall carry; no value when there must be no answer.
std::optional<std::int64_t> next_hop(const std::deque<AutomaticAnswer>& answered, const std::string& peer,
                                     std::int64_t hops, const std::string& created_at);

// Remembers an answer, and forgets what no longer counts.
void remember(std::deque<AutomaticAnswer>& answered, AutomaticAnswer answer);

}  // namespace restante::agent
