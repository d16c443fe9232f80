// Bell wakes the requests that wait on a topic, because there may be something new for them. It is only a hint:
// delivery is correct without it, the bell makes it fast. It is rung after the commit, from any thread. Ringing never
// blocks or throws.
#pragma once
#include <string_view>

namespace restante {

class Bell {
 public:
  virtual ~Bell() = default;
  virtual void ring(std::string_view topic) = 0;
  // Rings every topic: anything may be new.
  virtual void ring_all() = 0;
  // Answers all held requests as if their time were up, because no more rings can be expected. Requests that begin to
  // wait later are held again.
  virtual void release() = 0;
};

}  // namespace restante
