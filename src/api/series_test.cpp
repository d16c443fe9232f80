#include "api/handlers.h"

#include <gmock/gmock.h>

#include "api/test_api.h"

namespace restante::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::int64_t kStartMs = 1'800'000'000'000;

class SeriesApi : public ::testing::Test {
 protected:
  void minute() {
    api.desk.clock.advance(1min);
    api.series.tick();
  }

  TestApi api;
};

TEST_F(SeriesApi, BeforeTheFirstRowThereIsOnlyTheBuild) {
  const std::string body = api.get("/admin/series", api.admin).body;
  EXPECT_THAT(body, HasSubstr(R"("time":[])"));
  EXPECT_THAT(body, HasSubstr(R"("staged":[])"));
  EXPECT_THAT(body, HasSubstr(R"("running":{"staged":null)"));
}

TEST_F(SeriesApi, ReturnsColumnsWithNullsForUnknownValues) {
  api.series.tick();
  api.upload(api.sender);
  minute();
  const std::string body = api.get("/admin/series", api.admin).body;
  EXPECT_THAT(body, HasSubstr(R"("now":)" + std::to_string(kStartMs + 60'000) + R"(,"period_seconds":60,"kept":1440)"));
  EXPECT_THAT(body, HasSubstr(R"("time":[)" + std::to_string(kStartMs + 60'000) + "]"));
  EXPECT_THAT(body, HasSubstr(R"("staged":[1])"));
  EXPECT_THAT(body, HasSubstr(R"("delivery_p50":[null])"));
  EXPECT_THAT(body, HasSubstr(R"("running":{"staged":0,)"));
}

TEST_F(SeriesApi, SinceGivesOnlyNewerRows) {
  api.series.tick();
  minute();
  minute();
  const std::string body = api.get("/admin/series?since=" + std::to_string(kStartMs + 60'000), api.admin).body;
  EXPECT_THAT(body, HasSubstr(R"("time":[)" + std::to_string(kStartMs + 120'000) + "]"));
}

TEST_F(SeriesApi, ASinceThatIsNoTimeIsABadRequest) {
  for (const char* bad : {"yesterday", "-1", "", "99999999999999999999", "253402300800000"}) {
    const Answer answer = api.get(std::string("/admin/series?since=") + bad, api.admin);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_THAT(answer.body, HasSubstr(R"("field":"since")"));
  }
}

TEST_F(SeriesApi, IsOnlyForTheOperator) {
  EXPECT_EQ(api.get("/admin/series", api.agent).status, 401);
  EXPECT_EQ(api.get("/admin/series", api.sender).status, 401);
}

}  // namespace
}  // namespace restante::api
