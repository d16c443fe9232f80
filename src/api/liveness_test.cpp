#include "api/handlers.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace restante::api {
namespace {

TEST(LivenessApi, EveryLoopReportsItsLastRunAndWhetherItFailed) {
  TestApi api;
  const Time now = api.desk.clock.now();
  const std::chrono::milliseconds period(15'000);
  api.context.loops = [&] {
    return std::vector<LoopTick>{{"new", period, {}, now + period, false, 0},
                                 {"well", period, now, now + period, false, 2},
                                 {"failed", period, now, now + period, true, 3},
                                 {"stuck", period, now - std::chrono::hours(1), now - std::chrono::hours(1), false, 0}};
  };
  EXPECT_EQ(
      api.get("/admin/liveness", api.admin).body,
      R"({"loops":[{"name":"new","period_seconds":15,"last_tick_at":null,"ok":true,"error":null,"failures":0},)"
      R"({"name":"well","period_seconds":15,"last_tick_at":")" +
          format_time(now) +
          R"(","ok":true,"error":null,"failures":2},)"
          R"({"name":"failed","period_seconds":15,"last_tick_at":")" +
          format_time(now) +
          R"(","ok":false,"error":"the last run failed; the reason is in the log's job_failed lines","failures":3},)"
          R"({"name":"stuck","period_seconds":15,"last_tick_at":")" +
          format_time(now - std::chrono::hours(1)) +
          R"(","ok":false,"error":"it should have run again long ago","failures":0}]})");
}

TEST(LivenessApi, TheOperatorSeesStoresVersionsLoopsAndSettings) {
  TestApi api;
  const Time now = api.desk.clock.now();
  api.context.loops = [&] {
    return std::vector<LoopTick>{{"sweep", std::chrono::seconds(1), now, now + std::chrono::seconds(1), false, 0}};
  };
  api.context.facts = [&] {
    ServerFacts facts{"1.2.3", "abc", "clang", now - std::chrono::hours(1)};
    facts.stores = {{"database", "SQLite", "SQLite 3.40.1, schema 9", "/data/restante.db", ""},
                    {"blobs", "files", "", "/data/blobs", "the disk has failed"}};
    facts.settings = {{"log.level", "\"warn\"", "RESTANTE_LOG_LEVEL", "How much."}, {"data", "\"data\"", "", "Where."}};
    facts.warnings = {"Everybody may register."};
    facts.clock_doubt = "The clock was set.";
    return facts;
  };
  EXPECT_EQ(api.get("/admin/health", api.admin).body,
            R"({"version":"1.2.3","commit":"abc","compiler":"clang","now":")" + format_time(now) +
                R"(","started_at":")" + format_time(now - std::chrono::hours(1)) +
                R"(","shared":false,"stores":[{"name":"database","ok":true,"error":null,"kind":"SQLite",)"
                R"("detail":"SQLite 3.40.1, schema 9","place":"/data/restante.db"},)"
                R"({"name":"blobs","ok":false,"error":"the disk has failed","kind":"files","detail":null,)"
                R"("place":"/data/blobs"}],"loops":[{"name":"sweep","period_seconds":1,"last_tick_at":")" +
                format_time(now) +
                R"(","ok":true,"error":null,"failures":0}],"settings":[{"key":"log.level","value":"\"warn\"",)"
                R"("origin":"RESTANTE_LOG_LEVEL","help":"How much."},{"key":"data","value":"\"data\"","origin":null,)"
                R"("help":"Where."}],"warnings":["Everybody may register."],"clock_doubt":"The clock was set."})");
  EXPECT_EQ(api.get("/admin/health", api.agent).status, 401);
}

}  // namespace
}  // namespace restante::api
