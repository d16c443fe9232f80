#include "api/liveness.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace restante::api {
namespace {

TEST(LivenessApi, EveryLoopTellsWhenItLastRanAndWhetherThatWentWell) {
  TestApi api;
  const Time now = api.desk.clock.now();
  const std::chrono::milliseconds period(15'000);
  api.context.loops = [&] {
    return std::vector<LoopTick>{{"new", period, {}, now + period, false, 0},
                                 {"well", period, now, now + period, false, 2},
                                 {"failed", period, now, now + period, true, 3},
                                 {"stuck", period, now - std::chrono::hours(1), now - std::chrono::hours(1), false, 0}};
  };
  EXPECT_EQ(api.get("/admin/liveness", api.admin).body,
            R"({"loops":[{"name":"new","period_seconds":15,"last_tick_at":null,"ok":true,"error":null,"failures":0},)"
            R"({"name":"well","period_seconds":15,"last_tick_at":")" +
                format_time(now) +
                R"(","ok":true,"error":null,"failures":2},)"
                R"({"name":"failed","period_seconds":15,"last_tick_at":")" +
                format_time(now) +
                R"(","ok":false,"error":"the last run failed; the log says why in its job_failed lines","failures":3},)"
                R"({"name":"stuck","period_seconds":15,"last_tick_at":")" +
                format_time(now - std::chrono::hours(1)) +
                R"(","ok":false,"error":"it should have run again long ago","failures":0}]})");
}

}  // namespace
}  // namespace restante::api
