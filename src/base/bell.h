// Bell: tells whoever waits on a topic that there may be something new. A hint, never the truth: delivery is right if
// it never rings, it only makes delivery fast. Rung after the commit, from any thread; ringing never blocks or throws.
#pragma once
#include <string_view>

namespace restante {

class Bell {
 public:
  virtual ~Bell() = default;
  virtual void ring(std::string_view topic) = 0;
};

// For commands and tests in which nobody waits.
class SilentBell final : public Bell {
 public:
  void ring(std::string_view) override {}
};

}  // namespace restante
