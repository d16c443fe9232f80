// Hops: keeps two agents that answer each other automatically from talking for ever. A message carries in its metadata
// how many automatic answers led to it; beyond eight there is none. A peer whose software knows nothing of that is
// counted here: eight answers within an hour. Belongs to one thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace restante::agent {

class Hops {
 public:
  static constexpr std::int64_t kMost = 8;
  using Moment = std::chrono::steady_clock::time_point;

  // The number that the answer to a message with `hops` shall carry; no value when there must be no answer.
  std::optional<std::int64_t> next(const std::string& peer, std::int64_t hops, Moment now) {
    if (hops >= kMost) return {};
    if (hops == 0) {
      auto& answers = unmarked_[peer];
      while (!answers.empty() && now - answers.front() > std::chrono::hours(1)) answers.pop_front();
      if (answers.size() >= static_cast<std::size_t>(kMost)) return {};
      answers.push_back(now);
    }
    return hops + 1;
  }

 private:
  std::map<std::string, std::deque<Moment>> unmarked_;
};

}  // namespace restante::agent
