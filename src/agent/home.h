// Home: the state directory: token, state and lock, 0600 in a folder that is 0700 when we make it. One agent at a time
// lives in it: a second one is told who is there (host, process, since) instead of fighting over the cursor. Belongs to
// one thread.
#pragma once
#include <string>

#include "agent/files.h"
#include "agent/state.h"

namespace restante::agent {

class Home {
 public:
  // Takes the lock, which ends with the process. error is EWOULDBLOCK when another has it.
  static Tried<Home> open(const std::string& path);

  // A fresh one when there is none. A file that is no state of ours is a fault, never silently replaced.
  Tried<State> load() const;
  Tried<void> save(const State& state) const;

  // Empty when there is none.
  Tried<std::string> token() const;
  Tried<void> keep_token(const std::string& token) const;

 private:
  Descriptor folder_;
  Descriptor lock_;
  std::string path_;
};

}  // namespace restante::agent
