// Bell: tells whoever waits on a topic that there may be something new. A hint, never the truth: delivery is right if
// it never rings, it only makes delivery fast. Rung after the commit, from any thread; ringing never blocks or throws.
#pragma once
#include <string_view>

namespace restante {

class Bell {
 public:
  virtual ~Bell() = default;
  virtual void ring(std::string_view topic) = 0;
  // Anything may be new: everybody looks.
  virtual void ring_all() = 0;
  // Nothing new would be heard of: held requests are answered as if their time were up. Later ones wait again.
  virtual void release() = 0;
};

// For commands and tests in which nobody waits.
class SilentBell final : public Bell {
 public:
  void ring(std::string_view) override {}
  void ring_all() override {}
  void release() override {}
};

}  // namespace restante
