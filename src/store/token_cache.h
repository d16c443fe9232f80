// TokenCache: tokens by their hash. Every request has a token, and a read of the database is most of the cost of a
// small request. The cache never differs from the database: a store whose commit changed any token clears the cache
// before the commit is answered. Unknown hashes are not kept. Thread-safe.
#pragma once
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/crypto.h"
#include "base/mutex.h"
#include "model/token.h"

namespace restante {

class TokenCache {
 public:
  // `read()` reads the token from the database.
  template <class Read>
  std::optional<Token> find(const Digest& hash, Read read) {
    std::uint64_t generation = 0;
    std::optional<Token> token = look(hash, generation);
    if (token) return token;
    token = read();
    if (token) keep(hash, *token, generation);
    return token;
  }

  void clear();

 private:
  struct FirstBytes {
    std::size_t operator()(const Digest& hash) const {
      std::size_t value = 0;
      std::memcpy(&value, hash.data(), sizeof value);
      return value;
    }
  };

  // The cached token, and the number of clear() calls so far.
  std::optional<Token> look(const Digest& hash, std::uint64_t& generation) const;
  // Does nothing when the cache was cleared since `generation`: the token may be old.
  void keep(const Digest& hash, const Token& token, std::uint64_t generation);

  mutable SharedMutex mutex_;
  std::uint64_t generation_ RESTANTE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<Digest, Token, FirstBytes> tokens_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante
