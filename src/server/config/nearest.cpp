#include "server/config/values.h"

#include <algorithm>

namespace restante {
namespace {

// Edits between two words; a swap of neighbours, the most common typo, counts as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

std::string_view last_word(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 100;  // the work is quadratic, and nothing longer is a typo
  if (word.empty() || word.size() > kLongest) return {};
  // A correct last word in the wrong group costs one edit: a close match of the whole key still wins.
  std::string best;
  std::size_t best_cost = std::max<std::size_t>(1, std::min<std::size_t>(3, word.size() / 3)) + 1;
  for (const auto& candidate : candidates) {
    std::size_t cost = distance(word, candidate);
    if (last_word(word) == last_word(candidate)) cost = std::min<std::size_t>(cost, 1);
    if (cost < best_cost) {
      best_cost = cost;
      best = candidate;
    }
  }
  return best;
}

}  // namespace restante
