#include "desk/inbox/message_content.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "model/upload.h"

namespace restante::desk {
namespace {

const WorkspaceId kWorkspace = WorkspaceId::make(Time(std::chrono::seconds(1'800'000'000)));

InboxRow row_with(std::string request, std::string response = {}) {
  InboxRow row;
  row.workspace_id = kWorkspace;
  row.request_body = std::move(request);
  row.response_body = std::move(response);
  return row;
}

TEST(Parts, TextsAreJoinedAndFilesWithAUriAreKept) {
  const MessageContent content = request_content(row_with(
      R"({"params":{"message":{"parts":[{"kind":"text","text":"a"},{"kind":"file","file":{"uri":"x:1","name":"n",)"
      R"("mimeType":"text/plain","size":7}},{"kind":"file","file":{"bytes":"aGk="}},{"kind":"text","text":"b"}]}}})"));
  EXPECT_EQ(content.text, "a\n\nb");
  ASSERT_EQ(content.files.size(), 1u);
  EXPECT_EQ(content.files[0].uri, "x:1");
  EXPECT_EQ(content.files[0].name, "n");
  EXPECT_EQ(content.files[0].mime_type, "text/plain");
  EXPECT_EQ(content.files[0].size, 7);
}

TEST(Parts, MalformedPartsAreSkipped) {
  for (const char* body :
       {"", "null", "[]", "{", R"({"params":[]})", R"({"params":{"message":7}})", R"({"params":{"message":{}}})",
        R"({"params":{"message":{"parts":{"text":"a"}}}})", R"({"params":{"message":{"parts":[1,"a",null,[],{}]}}})",
        R"({"params":{"message":{"parts":[{"text":7},{"file":"x"},{"file":{"uri":7,"name":[]}}]}}})",
        R"({"result":{"artifacts":{"parts":[{"text":"a"}]}}})"}) {
    EXPECT_TRUE(request_content(row_with(body)).nothing()) << body;
    EXPECT_TRUE(response_content(row_with("", body)).nothing()) << body;
  }
  const MessageContent odd = request_content(
      row_with(R"({"params":{"message":{"parts":[{"file":{"uri":"x:1","name":7,"mimeType":null,"size":"big"}}]}}})"));
  ASSERT_EQ(odd.files.size(), 1u);
  EXPECT_FALSE(odd.nothing()) << "a file without text is content";
  EXPECT_EQ(odd.files[0].name, "");
  EXPECT_EQ(odd.files[0].size, std::nullopt);
}

TEST(Parts, AnAnswerIsATextAMessageOrATask) {
  const std::pair<const char*, const char*> answers[] = {
      {R"({"result":"plain"})", "plain"},
      {R"({"result":"words","parts":[{"kind":"file","file":{"uri":"x:1","name":"n"}}]})", "words"},
      {R"({"jsonrpc":"2.0","result":{"kind":"message","parts":[{"kind":"text","text":"hi"}]}})", "hi"},
      {R"({"result":{"message":{"parts":[{"text":"inner"}]}}})", "inner"},
      {R"({"result":{"status":{"state":"completed","message":{"parts":[{"text":"done"}]}},)"
       R"("artifacts":[{"parts":[{"text":"one"}]},{"parts":[{"text":"two"}]},7]}})",
       "done\n\none\n\ntwo"},
      {R"({"error":{"code":-1,"message":"no"}})", ""},
  };
  for (const auto& [body, text] : answers) EXPECT_EQ(response_content(row_with("", body)).text, text) << body;
}

TEST(Parts, AnUploadIsKnownByItsRowAndByItsReceipts) {
  const FileId id = FileId::make(Time());
  InboxRow row = row_with(R"({"file_id":")" + id.text() + R"(","name":"a.txt","mimeType":"text/plain","size":3})");
  EXPECT_FALSE(upload_in(row));
  row.activity_type = "upload_receipt";
  ASSERT_TRUE(upload_in(row));
  EXPECT_EQ(upload_in(row)->name, "a.txt");
  EXPECT_EQ(file_of(upload_in(row)->uri, kWorkspace), id);
  row.activity_type = "a2a_receive";
  EXPECT_FALSE(upload_in(row));
  row.method = "chat_upload_receive";
  EXPECT_TRUE(upload_in(row));
  for (const char* body : {R"({"file_id":"junk"})", "{", ""}) {
    row.request_body = body;
    EXPECT_FALSE(upload_in(row)) << body;
  }
}

TEST(Parts, OnlyAUriOfThisWorkspaceNamesAFileOfIt) {
  const FileId id = FileId::make(Time());
  const WorkspaceId other = WorkspaceId::make(Time());
  EXPECT_EQ(file_of("platform-pending:" + kWorkspace.text() + "/" + id.text(), kWorkspace), id);
  for (const std::string& uri :
       {std::string(), std::string("https://example.org/a"), "platform-pending:" + kWorkspace.text(),
        "platform-pending:" + other.text() + "/" + id.text(), "platform-pending:" + kWorkspace.text() + "/x",
        "workspace:" + kWorkspace.text() + "/" + id.text()}) {
    EXPECT_FALSE(file_of(uri, kWorkspace)) << uri;
  }
}

}  // namespace
}  // namespace restante::desk
