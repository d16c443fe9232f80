// DeliveryStatus: what the delivery loop does now, for the health file and `restante status`.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.h"

namespace restante::agent {

struct DeliveryStatus {
  // The delivery that is being handed over.
  struct UnderWay {
    std::string id;
    std::string what;  // "message from the person", "task review-1"
    Time since;
    std::string trouble;  // why it waits; empty: it is worked on
  };
  std::optional<UnderWay> under_way;
  std::size_t waiting = 0;  // messages behind it
};

}  // namespace restante::agent
