#include "api/handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_api.h"

namespace restante::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BlobCheckApi : public ::testing::Test {
 protected:
  Answer start(std::string body) { return api.post("/admin/blobs/check", api.admin, std::move(body)); }
  std::string report() { return api.get("/admin/blobs/check", api.admin).body; }

  TestApi api;
};

TEST_F(BlobCheckApi, BeforeTheFirstCheckThereIsNoReport) {
  EXPECT_THAT(report(), AllOf(HasSubstr(R"({"state":"none","fix":false,"started_at":null,"ended_at":null,"files":0,)"),
                              HasSubstr(R"("findings":[]})")));
}

TEST_F(BlobCheckApi, ItIsStartedOnceAndReportsFilesByNameWorkspaceAndPlace) {
  const std::string file = api.upload(api.sender, "a.bin", std::string(20'000, 'x'));
  const auto row = api.desk.store->find_upload(api.workspace, *FileId::parse(file));
  api.desk.places.drop(row->blob_key);
  const Answer started = start(R"({"fix":false})");
  EXPECT_EQ(started.status, 202) << started.body;
  EXPECT_THAT(started.body, HasSubstr(R"({"state":"running","fix":false,)"));
  const Answer second = start(R"({"fix":true})");
  EXPECT_EQ(second.status, 409);
  EXPECT_THAT(second.body, HasSubstr(R"("code":"blob_check_running")"));
  api.desk.blob_check.tick();
  EXPECT_THAT(
      report(),
      AllOf(HasSubstr(R"({"state":"done",)"), HasSubstr(R"("files":1,"all_files":1,)"),
            HasSubstr(R"("found":{"missing":1,"changed":0,"unreadable":0,"orphan":0,"unfinished":0,"out_of_reach":0})"),
            HasSubstr(R"("mended":0,"wrong":1,"reason":null)"),
            HasSubstr(R"("findings":[{"fault":"missing","remedy":"none","place":"dir","blob":")" + row->blob_key +
                      R"(","workspace_id":")" + api.workspace.text() + R"(","workspace_name":"agent","file_id":")" +
                      file + R"(","name":"a.bin","size":20000})")));
}

TEST_F(BlobCheckApi, WithFixTheFileIsMarked) {
  const std::string file = api.upload(api.sender, "a.bin", std::string(20'000, 'x'));
  const auto id = *FileId::parse(file);
  api.desk.places.drop(api.desk.store->find_upload(api.workspace, id)->blob_key);
  EXPECT_EQ(start(R"({"fix":true})").status, 202);
  api.desk.blob_check.tick();
  EXPECT_THAT(report(), AllOf(HasSubstr(R"("remedy":"told")"), HasSubstr(R"("mended":1,"wrong":0)")));
  EXPECT_EQ(api.desk.store->find_upload(api.workspace, id)->damage, UploadDamage::missing);
}

TEST_F(BlobCheckApi, FixMustBeABoolean) {
  for (const char* body : {R"({"fix":"yes"})", R"({"fix":1})"}) {
    const Answer refused = start(body);
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, AllOf(HasSubstr(R"("code":"bad_field")"), HasSubstr(R"("field":"fix")")));
  }
  EXPECT_THAT(report(), HasSubstr(R"("state":"none")")) << "nothing has begun";
  for (const char* body : {"{}", R"({"fix":null})"}) {
    EXPECT_EQ(start(body).status, 202);
    api.desk.blob_check.tick();
    EXPECT_THAT(report(), AllOf(HasSubstr(R"("state":"done","fix":false)"), Not(HasSubstr("running"))));
  }
}

}  // namespace
}  // namespace restante::api
