#include "api/uploads.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/text.h"

namespace restante::api {
namespace {

class UploadsApi : public ::testing::Test {
 protected:
  Answer content(std::string_view file, std::string_view secret, std::string method = "GET",
                 std::vector<http::Header> headers = {}) {
    Ask asked;
    asked.method = std::move(method);
    asked.target = api.path("/pending-uploads/" + std::string(file) + "/content");
    asked.headers = std::move(headers);
    return api.ask(asked.bearer(secret));
  }
  Answer send(std::string_view type, std::string body) {
    Ask asked;
    asked.method = "POST";
    asked.target = api.path("/chat/uploads");
    asked.body = std::move(body);
    return api.ask(asked.bearer(api.sender).with("Content-Type", std::string(type)));
  }
  static std::string part(std::string_view name, std::string_view bytes) {
    return "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + std::string(name) + "\"\r\n\r\n" +
           std::string(bytes) + "\r\n";
  }
  std::optional<Time> fetched_at(const std::string& file) {
    // A verb behind the fetch: the writer keeps the order.
    (void)api.desk.uploads.ack(api.other, FileId::make(desk::kStart)).take();
    return api.desk.uploads.find(api.workspace, *FileId::parse(file))->fetched_at;
  }

  TestApi api;
};

TEST_F(UploadsApi, ContentComesWithHeadersThatLetNoBrowserRunIt) {
  const std::string file = api.upload(api.sender, "we ird;\xc3\xa9.html", "<script>", "text/html; charset=utf-7");
  const Answer answer = content(file, api.agent);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "<script>");
  EXPECT_EQ(answer.header("Content-Type"), "text/html");
  EXPECT_EQ(answer.header("Content-Disposition"),
            "attachment; filename=\"we_ird__.html\"; filename*=UTF-8''we_ird__.html");
  EXPECT_EQ(answer.header("Content-Security-Policy"), "sandbox; default-src 'none'");
  EXPECT_EQ(answer.header("Cache-Control"), "private, no-store");
  EXPECT_EQ(answer.header("Accept-Ranges"), "bytes");
  EXPECT_EQ(answer.header("ETag"), "\"" + to_hex(sha256("<script>")) + "\"");
  EXPECT_EQ(answer.header("Repr-Digest"), "sha-256=:" + to_base64(sha256("<script>")) + ":");
}

TEST_F(UploadsApi, AFileWithoutATypeIsOctets) {
  EXPECT_EQ(content(api.upload(api.sender, "x", "y", "no type"), api.agent).header("Content-Type"),
            "application/octet-stream");
}

TEST_F(UploadsApi, RangesAndTagsAreHonoured) {
  const std::string file = api.upload(api.sender, "a", "0123456789");
  const std::string etag = content(file, api.sender).header("ETag");
  const Answer part = content(file, api.sender, "GET", {{"Range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/10");
  const Answer outside = content(file, api.sender, "GET", {{"Range", "bytes=10-"}});
  EXPECT_EQ(outside.status, 416);
  EXPECT_EQ(outside.header("Content-Range"), "bytes */10");
  const Answer same = content(file, api.sender, "GET", {{"If-None-Match", etag}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(content(file, api.sender, "GET", {{"Range", "bytes=2-4"}, {"If-Range", "\"old\""}}).status, 200);
}

TEST_F(UploadsApi, OnlyAGetByTheAgentIsAFetch) {
  const std::string file = api.upload(api.sender);
  (void)content(file, api.agent, "HEAD");
  (void)content(file, api.sender);
  (void)content(file, api.admin);
  (void)content(file, api.agent, "GET", {{"Range", "bytes=99-"}});
  EXPECT_FALSE(fetched_at(file));
  (void)content(file, api.agent);
  EXPECT_EQ(fetched_at(file), desk::kStart);
}

TEST_F(UploadsApi, WhatIsGoneIsTheSame404WhyeverItIsGone) {
  const std::string acked = api.upload(api.sender);
  Ask ack;
  ack.method = "POST";
  ack.target = api.path("/pending-uploads/" + acked + "/ack");
  ack.bearer(api.agent);
  EXPECT_EQ(api.ask(ack).body, R"({"acked":true})");
  EXPECT_EQ(api.ask(ack).body, R"({"acked":true})");
  const std::string foreign = FileId::make(desk::kStart).text();
  for (const std::string& file : {acked, foreign}) {
    const Answer answer = content(file, api.agent);
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.body, R"({"error":"pending upload not found, expired, or already acked","code":"upload_gone"})");
  }
  EXPECT_EQ(content(acked, api.sender).status, 200);
  EXPECT_EQ(content("junk", api.agent).status, 400);
  EXPECT_EQ(api.get("/workspaces/" + api.other.text() + "/pending-uploads/" + acked + "/content", api.admin).status,
            404);
}

TEST_F(UploadsApi, RefusalsSayWhatIsWrongAndLeaveNothing) {
  struct Case {
    const char* name;
    std::string type;
    std::string body;
    int status;
    std::string mentions;
  };
  const std::string form = "multipart/form-data; boundary=b";
  std::string many;
  for (int i = 0; i < 65; ++i) many += part("f", "x");
  const Case kCases[] = {
      {"not multipart", "application/json", "{}", 400, "malformed multipart body"},
      {"mixed", "multipart/mixed; boundary=b", part("a", "x") + "--b--\r\n", 400, "malformed multipart body"},
      {"no boundary", "multipart/form-data", part("a", "x") + "--b--\r\n", 400, "malformed multipart body"},
      {"cut", form, part("a", "x") + part("b", "y"), 400, "malformed multipart body"},
      {"no file", form, "--b\r\nContent-Disposition: form-data; name=\"files\"\r\n\r\ntext\r\n--b--\r\n", 400,
       "no files field in request"},
      {"nothing chosen", form, part("", "") + "--b--\r\n", 400, "no files field in request"},
      {"empty file", form, part("a", "x") + part("empty.txt", "") + "--b--\r\n", 400, R"("filename":"empty.txt")"},
      {"too many", form, many + "--b--\r\n", 400, "too many files (limit 64)"},
  };
  for (const Case& c : kCases) {
    const Answer answer = send(c.type, c.body);
    EXPECT_EQ(answer.status, c.status) << c.name;
    EXPECT_NE(answer.body.find(c.mentions), std::string::npos) << c.name << ": " << answer.body;
  }
  EXPECT_EQ(api.desk.log_of(api.workspace).size(), 0u);
  EXPECT_EQ(api.desk.blob_files(), 0u);
}

TEST_F(UploadsApi, AnswersEveryFileInPartOrder) {
  const Answer answer =
      send("multipart/form-data; boundary=b", part("one.txt", "1") + part("two.txt", "22") + "--b--\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.starts_with(R"({"files":[{"uri":"platform-pending:)" + api.workspace.text() + "/"));
  const auto one = answer.body.find(R"("name":"one.txt","mimeType":"","size":1,"sha256":")" + to_hex(sha256("1")));
  const auto two = answer.body.find(R"("name":"two.txt","mimeType":"","size":2,"sha256":")" + to_hex(sha256("22")));
  EXPECT_LT(one, two);
  EXPECT_NE(two, std::string::npos);
  const auto listed = api.get(api.path("/pending-uploads"), api.agent).body;
  EXPECT_LT(listed.find("one.txt"), listed.find("two.txt"));
}

}  // namespace
}  // namespace restante::api
