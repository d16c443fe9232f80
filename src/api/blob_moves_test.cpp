#include "api/handlers.h"

#include <gmock/gmock.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

using ::testing::HasSubstr;

class BlobMovesApi : public ::testing::Test {
 protected:
  Answer begin(const std::string& body) { return api.post("/admin/blobs/migration", api.admin, body); }
  static std::string text(const Json& object, std::string_view name) {
    const Json* value = object.find(name);
    return value && value->if_string() ? *value->if_string() : "";
  }

  TestApi api;
};

TEST_F(BlobMovesApi, ReportsTheFilesOfEachPlaceAndThatNoMoveIsInProgress) {
  api.upload(api.sender, "big", std::string(20'000, 'x'));
  api.upload(api.sender, "small", "in its row");
  const Answer answer = api.get("/admin/blobs", api.admin);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json report = *parse_json(answer.body);
  EXPECT_EQ(text(report, "writes_to"), "dir");
  EXPECT_EQ(text(report, "setting"), "dir");
  EXPECT_THAT(answer.body, HasSubstr(R"("also_to":null)"));
  EXPECT_THAT(answer.body, HasSubstr(R"({"place":"dir","configured":true,"healthy":true,"error":null,"files":1,)"
                                     R"("bytes":20000,"damaged_files":0,"damaged_bytes":0,"second_copies":0,)"
                                     R"("second_copies_bytes":0})"));
  EXPECT_THAT(answer.body, HasSubstr(R"({"place":"s3","configured":false,"healthy":false,"error":null,"files":0,)"));
  EXPECT_THAT(answer.body, HasSubstr(R"("migration":null)"));
}

TEST_F(BlobMovesApi, InvalidRequestsAreRefused) {
  EXPECT_EQ(begin("{}").status, 400);
  EXPECT_EQ(begin(R"({"to":7})").status, 400);
  EXPECT_THAT(begin(R"({"to":"disk"})").body, HasSubstr("dir, inline or s3"));
  EXPECT_EQ(begin(R"({"to":"s3","rate":"fast"})").status, 400);
  EXPECT_THAT(begin(R"({"to":"s3","rate":-1})").body, HasSubstr("0 is no limit"));
  EXPECT_THAT(begin(R"({"to":"s3"})").body, HasSubstr("blob_place_unusable"));
  EXPECT_THAT(begin(R"({"to":"dir"})").body, HasSubstr("blob_move_needless"));
  const Answer none = api.post("/admin/blobs/migration/finish", api.admin, "{}");
  EXPECT_EQ(none.status, 409);
  EXPECT_THAT(none.body, HasSubstr("no_blob_move"));
}

// Another server has begun it; this one is not configured for it and reports that.
TEST_F(BlobMovesApi, AMoveInProgressIsReportedWithItsProgress) {
  api.upload(api.sender, "big", std::string(20'000, 'x'));
  ASSERT_TRUE(api.desk.store->begin_blob_move(Place::dir, Place::s3, 7, api.desk.clock.now()).take());
  const Answer answer = api.get("/admin/blobs", api.admin);
  EXPECT_THAT(answer.body, HasSubstr(R"("writes_to":"s3","also_to":"dir")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("migration":{"from":"dir","to":"s3","phase":"both","rate":7,)"));
  EXPECT_THAT(
      answer.body,
      HasSubstr(
          R"("left_files":1,"left_bytes":20000,"copied_files":0,"copied_bytes":0,)"
          R"("bytes_per_second":null,"seconds_left":null,"failures":0,"last_failure":null,"copied_by":null,"held_up":null})"));
  api.desk.blob_moves.tick();
  EXPECT_THAT(api.get("/admin/blobs", api.admin).body,
              HasSubstr(R"("copied_by":null,"held_up":"this server is not set up for files in \"s3\")"));
  EXPECT_EQ(begin(R"({"to":"dir","rate":null})").status, 200);
  EXPECT_THAT(api.get("/admin/blobs", api.admin).body, HasSubstr(R"("phase":"both","rate":7,)")) << "it stays";
  EXPECT_THAT(begin(R"({"to":"dir","rate":0})").body, HasSubstr(R"("phase":"both","rate":0,)"));
  api.desk.blob_moves.tick();
  EXPECT_THAT(api.get("/admin/blobs", api.admin).body, HasSubstr(R"("copied_by":null,"held_up":null})"))
      << "it rests until it looks again";
  api.desk.clock.advance(std::chrono::seconds(3));
  api.desk.blob_moves.tick();
  EXPECT_THAT(api.get("/admin/blobs", api.admin).body, HasSubstr(R"("copied_by":"this_server","held_up":null})"));
  ASSERT_TRUE(
      api.desk.store->take_blob_move_lease(WorkerId::make(api.desk.clock.now()), Time::max(), Time::max()).take());
  api.desk.clock.advance(std::chrono::seconds(30));
  api.desk.blob_moves.tick();
  EXPECT_THAT(api.get("/admin/blobs", api.admin).body, HasSubstr(R"("copied_by":"another_server","held_up":null})"));
}

TEST_F(BlobMovesApi, AMoveThatHasNotCopiedEverythingIsNotFinished) {
  api.upload(api.sender, "big", std::string(20'000, 'x'));
  ASSERT_TRUE(api.desk.store->begin_blob_move(Place::dir, Place::s3, 7, api.desk.clock.now()).take());
  const Answer early = api.post("/admin/blobs/migration/finish", api.admin, "{}");
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.body, HasSubstr("blob_move_unfinished"));
  EXPECT_THAT(early.body, HasSubstr(R"("files":1)"));
}

}  // namespace
}  // namespace restante::api
