#include "store/token_cache.h"

namespace restante {
namespace {

// About two megabytes. With more tokens in use, some of them are read again.
constexpr std::size_t kMostTokens = 8192;

}  // namespace

void TokenCache::clear() {
  const WriterLock lock(mutex_);
  ++generation_;
  tokens_.clear();
}

std::optional<Token> TokenCache::look(const Digest& hash, std::uint64_t& generation) const {
  const ReaderLock lock(mutex_);
  generation = generation_;
  const auto known = tokens_.find(hash);
  return known == tokens_.end() ? std::nullopt : std::optional<Token>(known->second);
}

void TokenCache::keep(const Digest& hash, const Token& token, std::uint64_t generation) {
  const WriterLock lock(mutex_);
  if (generation != generation_) return;
  if (tokens_.size() >= kMostTokens) tokens_.clear();
  tokens_.insert_or_assign(hash, token);
}

}  // namespace restante
