// include=peer_info, and what a sender sees of the inbox.
#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

class InboxRowsApi : public ::testing::Test {
 protected:
  void append(NewInboxRow row) {
    row.activity_type = row.activity_type.empty() ? "a2a_receive" : row.activity_type;
    row.target_id = api.workspace;
    EXPECT_TRUE(api.desk.store->append_to_inbox(api.workspace, row, desk::kStart).take());
  }
  static NewInboxRow message(std::string parts, std::optional<WorkspaceId> source = {}) {
    NewInboxRow row;
    row.method = "message/send";
    row.source_id = source;
    row.request_body = R"({"params":{"message":{"parts":[)" + parts + "]}}}";
    return row;
  }
  static std::string file_part(const std::string& uri) {
    return R"({"kind":"file","file":{"uri":")" + uri + R"(","name":"a","mimeType":"text/plain","size":5}})";
  }
  // The rows, oldest first.
  Json::Array rows(const std::string& query = "&include=peer_info") {
    const Answer answer = api.get(api.path("/activity?since_seq=0" + query), api.agent);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const auto json = parse_json(answer.body);
    return json.has_value() && json->if_array() ? *json->if_array() : Json::Array();
  }
  static std::string states(const Json& row) {
    std::string all;
    for (const Json& attachment : *row.find("attachments")->if_array()) {
      all += *attachment.find("state")->if_string() + " ";
    }
    return all;
  }

  TestApi api;
};

TEST_F(InboxRowsApi, WithoutTheParameterNothingIsAdded) {
  append(message("", api.other));
  for (const char* query : {"", "&include=", "&include=junk", "&include=peer_information"}) {
    EXPECT_EQ(rows(query)[0].find("peer_name"), nullptr) << query;
    EXPECT_EQ(rows(query)[0].find("attachments"), nullptr) << query;
  }
  EXPECT_NE(rows("&include=other,peer_info")[0].find("peer_name"), nullptr);
}

TEST_F(InboxRowsApi, TheSourcesNameAndRoleAreIncluded) {
  WorkspacePatch patch;
  patch.name = "reviewer";
  patch.role = "post";
  ASSERT_TRUE(api.desk.store->patch_workspace(api.other, patch, desk::kStart).take());
  append(message("", api.other));
  append(message(""));
  append(message("", WorkspaceId::make(desk::kStart)));
  EXPECT_EQ(rows()[0].find("peer_name")->dump(), R"("reviewer")");
  EXPECT_EQ(rows()[0].find("peer_role")->dump(), R"("post")");
  for (const std::size_t unknown : {1u, 2u}) {
    EXPECT_TRUE(rows()[unknown].find("peer_name")->is_null());
    EXPECT_TRUE(rows()[unknown].find("peer_role")->is_null());
    EXPECT_EQ(rows()[unknown].find("attachments")->dump(), "[]");
  }
  ASSERT_TRUE(api.desk.store->remove_workspace(api.other, desk::kStart).take());
  EXPECT_TRUE(rows()[0].find("peer_name")->is_null()) << "removed";
}

TEST_F(InboxRowsApi, AnAttachmentContainsTheStateOfItsFile) {
  const std::string file = api.upload(api.sender);
  const std::string uri = "platform-pending:" + api.workspace.text() + "/" + file;
  const std::string foreign = "platform-pending:" + api.other.text() + "/" + file;
  append(message(file_part(uri) + "," + file_part("https://example.org/a") + "," + file_part(foreign) + "," +
                 file_part("platform-pending:" + api.workspace.text() + "/" + FileId::make(desk::kStart).text())));
  EXPECT_EQ(states(rows()[0]), "staged ") << "the upload's own row";
  EXPECT_EQ(states(rows()[1]), "staged unknown unknown unknown ");
  EXPECT_EQ(rows()[1].find("attachments")->if_array()->at(0).dump(),
            R"({"kind":"file","uri":")" + uri + R"(","mime_type":"text/plain","name":"a","size":5,"state":"staged"})");
  EXPECT_EQ(api.get(api.path("/pending-uploads/" + file + "/content"), api.agent).status, 200);
  EXPECT_EQ(api.post(api.path("/pending-uploads/" + file + "/ack"), api.agent, "").status, 200);
  EXPECT_EQ(states(rows()[1]), "acked unknown unknown unknown ");
  ASSERT_EQ(rows().size(), 3u);
  EXPECT_EQ(states(rows()[2]), "acked ") << "the receipt";
}

TEST_F(InboxRowsApi, ANotifysAttachmentsAreIncluded) {
  NewInboxRow row;
  row.method = "notify";
  row.response_body = R"({"result":"look","parts":[)" + file_part("https://example.org/a") + "]}";
  append(row);
  EXPECT_EQ(states(rows()[0]), "unknown ");
}

TEST_F(InboxRowsApi, AnAttachmentsKindIsTheOneOfItsMediaType) {
  const auto part = [](std::string_view type) {
    return R"({"kind":"file","file":{"uri":"x:1","name":"a",)" + std::string(type) + "}}";
  };
  append(message(part(R"("mimeType":"image/png")") + "," + part(R"("mime_type":"audio/ogg")") + "," +
                 part(R"("mimeType":"video/mp4")") + "," + part(R"("mimeType":"text/plain")")));
  std::string kinds;
  const auto read = rows();
  for (const Json& attachment : read[0].items("attachments")) {
    kinds += attachment.text("kind") + " " + attachment.text("mime_type") + ", ";
  }
  EXPECT_EQ(kinds, "image image/png, audio audio/ogg, video video/mp4, file text/plain, ");
}

TEST_F(InboxRowsApi, BodiesOfAnyShapeStayUnchanged) {
  for (const char* body : {"null", "7", "[]", R"("text")", R"({"params":{"message":{"parts":[7,{"file":[]}]}}})"}) {
    NewInboxRow row;
    row.method = "message/send";
    row.request_body = body;
    row.response_body = body;
    append(row);
  }
  for (const Json& row : rows()) EXPECT_EQ(row.find("attachments")->dump(), "[]");
}

TEST_F(InboxRowsApi, ASenderSeesOnlyTheChat) {
  append(message(R"({"kind":"text","text":"from a person"})"));
  append(message(R"({"kind":"text","text":"from an agent"})", api.other));
  NewInboxRow log;
  log.activity_type = "agent_log";
  log.summary = "thoughts";
  append(log);
  api.upload(api.sender);
  const std::string target = api.path("/activity?since_seq=0");
  const std::string seen = api.get(target, api.sender).body;
  EXPECT_NE(seen.find("from a person"), std::string::npos) << seen;
  EXPECT_NE(seen.find("chat_upload_receive"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("from an agent"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("thoughts"), std::string::npos) << seen;
  EXPECT_EQ(api.get(api.path("/activity?since_seq=0&source=agent"), api.sender).body, "[]");
  EXPECT_EQ(api.get(api.path("/activity?since_seq=3&wait=20"), api.sender).held, false) << "a cursor on a hidden row";
  for (const std::string& who : {api.agent, api.admin}) {
    EXPECT_NE(api.get(target, who).body.find("from an agent"), std::string::npos);
  }
}

}  // namespace
}  // namespace restante::api
