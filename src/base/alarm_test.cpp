#include "base/alarm.h"

#include <gtest/gtest.h>

#include <future>

namespace restante {
namespace {

TEST(AnAlarm, RunsItsActionAfterTheDelay) {
  std::promise<void> rung;
  const Alarm alarm(std::chrono::milliseconds(1), [&] { rung.set_value(); });
  rung.get_future().get();
}

TEST(AnAlarm, DoesNothingAfterItIsDestroyed) {
  bool rung = false;
  {
    const Alarm alarm(std::chrono::hours(1), [&] { rung = true; });
  }
  EXPECT_FALSE(rung);
}

}  // namespace
}  // namespace restante
