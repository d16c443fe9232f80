// Content of uploads that is not a file on disk: the same answers, read in another way.
#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/text.h"

namespace restante::api {
namespace {

class PendingContentApi : public ::testing::Test {
 protected:
  Ask content_request(std::string_view file, std::string_view secret, std::vector<http::Header> headers = {}) const {
    Ask asked;
    asked.target = api.path("/pending-uploads/" + std::string(file) + "/content");
    asked.headers = std::move(headers);
    return asked.bearer(secret);
  }
  // The handler's response, before the edge performs it.
  http::Response begun(std::string_view file, std::string_view secret) {
    http::Request request;
    const std::string head = "GET " + api.path("/pending-uploads/" + std::string(file) + "/content") +
                             " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + std::string(secret) + "\r\n\r\n";
    EXPECT_FALSE(http::parse_head(head, http::Limits(), request));
    const auto match = api.router.match(request);
    EXPECT_FALSE(match.route->admit(request));
    return match.route->handle(request);
  }
  static std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 >> 5);
    return bytes;
  }

  TestApi api{{}, Place::inlined};
  const std::string bytes = pattern(1'300'000);
};

TEST_F(PendingContentApi, OpeningAndReadingAreForTheThreadsForFileContent) {
  const std::string file = api.upload(api.sender, "a.bin", bytes);
  EXPECT_EQ(api.desk.blob_files(), 0u);
  http::Response response = begun(file, api.agent);
  const auto* later = std::get_if<std::shared_ptr<http::Later>>(&response.content);
  ASSERT_TRUE(later);
  EXPECT_EQ((*later)->may_block, http::MayBlock::on_bytes);
  const http::Response opened = (*later)->answer();
  const auto* slice = std::get_if<std::shared_ptr<http::FileSlice>>(&opened.content);
  ASSERT_TRUE(slice);
  EXPECT_EQ((*slice)->fd, -1);
  EXPECT_TRUE((*slice)->read);
  EXPECT_TRUE((*slice)->may_go_on);
  EXPECT_TRUE(TestApi::settle(opened).body == bytes);
}

TEST_F(PendingContentApi, AFileAndARowAreAnsweredAtOnce) {
  const std::string small = api.upload(api.sender, "small");
  EXPECT_TRUE(std::holds_alternative<std::string>(begun(small, api.agent).content));
  api.desk.places.set_plan({Place::dir, {}});
  const std::string file = api.upload(api.sender, "a.bin", bytes);
  const http::Response response = begun(file, api.agent);
  const auto* slice = std::get_if<std::shared_ptr<http::FileSlice>>(&response.content);
  ASSERT_TRUE(slice);
  EXPECT_GE((*slice)->fd, 0);
}

TEST_F(PendingContentApi, WhileAFileHasASecondCopyInAnotherPlaceItsOpeningMayTakeLong) {
  api.desk.places.set_plan({Place::dir, Place::inlined});
  const std::string file = api.upload(api.sender, "a.bin", bytes);
  http::Response response = begun(file, api.agent);
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<http::Later>>(response.content));
  EXPECT_TRUE(TestApi::settle(std::move(response)).body == bytes);
}

TEST_F(PendingContentApi, RangesTagsAndHeadAreTheSameAsForAFile) {
  const std::string file = api.upload(api.sender, "a.bin", bytes, "image/png");
  const Answer whole = api.ask(content_request(file, api.agent));
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.body == bytes);
  EXPECT_EQ(whole.header("Content-Type"), "image/png");
  const std::string etag = whole.header("ETag");
  const std::string size = std::to_string(bytes.size());
  for (const auto& [range, from, length] :
       {std::tuple("bytes=2-4", std::size_t{2}, std::size_t{3}),
        std::tuple("bytes=1048570-1048590", std::size_t{1'048'570}, std::size_t{21}),
        std::tuple("bytes=-1", bytes.size() - 1, std::size_t{1})}) {
    const Answer part = api.ask(content_request(file, api.agent, {{"Range", range}, {"If-Range", etag}}));
    EXPECT_EQ(part.status, 206);
    EXPECT_TRUE(part.body == bytes.substr(from, length)) << range;
    EXPECT_EQ(part.header("Content-Range"),
              "bytes " + std::to_string(from) + "-" + std::to_string(from + length - 1) + "/" + size);
  }
  EXPECT_EQ(api.ask(content_request(file, api.agent, {{"Range", "bytes=" + size + "-"}})).status, 416);
  EXPECT_EQ(api.ask(content_request(file, api.agent, {{"If-None-Match", etag}})).status, 304);
  Ask head = content_request(file, api.agent);
  head.method = "HEAD";
  EXPECT_EQ(api.ask(head).status, 200);
}

TEST_F(PendingContentApi, ACallerWithoutPermissionIsRefusedAtOnce) {
  const std::string file = api.upload(api.sender, "a.bin", bytes);
  api.desk.clock.advance(std::chrono::hours(24));
  http::Response response = begun(file, api.agent);
  ASSERT_TRUE(std::holds_alternative<std::string>(response.content));
  EXPECT_EQ(TestApi::settle(std::move(response)).status, 404);
}

TEST_F(PendingContentApi, OnlyTheAgentsOwnGetIsAFetch) {
  const std::string file = api.upload(api.sender, "a.bin", bytes);
  const auto fetched = [&] {
    // A verb after the fetch: the writer keeps the order.
    (void)api.desk.uploads.ack(api.other, FileId::make(desk::kStart)).take();
    return api.desk.uploads.find(desk::kOperator, api.workspace, *FileId::parse(file))->upload.fetched_at.has_value();
  };
  Ask head = content_request(file, api.agent);
  head.method = "HEAD";
  (void)api.ask(head);
  (void)api.ask(content_request(file, api.sender));
  EXPECT_FALSE(fetched());
  (void)api.ask(content_request(file, api.agent));
  EXPECT_TRUE(fetched());
}

// A commit that refuses an upload leaves blobs that must be deleted in their place.
TEST_F(PendingContentApi, TheEndOfAnUploadIsForTheirThreadsOnlyIfABlobWasWritten) {
  const auto ended = [&](std::string_view content) {
    const std::string body = "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\n\r\n" +
                             std::string(content) + "\r\n--b--\r\n";
    http::Request request;
    const std::string head = "POST " + api.path("/chat/uploads") +
                             " HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\n" +
                             "Authorization: Bearer " + api.sender +
                             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    EXPECT_FALSE(http::parse_head(head, http::Limits(), request));
    request.body = body;
    const auto match = api.router.match(request);
    EXPECT_FALSE(match.route->admit(request));
    http::Response response = TestApi::stream(*match.route, request);
    const http::MayBlock may_block = std::get<std::shared_ptr<http::Later>>(response.content)->may_block;
    EXPECT_EQ(TestApi::settle(std::move(response)).status, 200);
    return may_block;
  };
  EXPECT_EQ(ended(bytes), http::MayBlock::on_bytes);
  EXPECT_EQ(ended("small"), http::MayBlock::no);
}

}  // namespace
}  // namespace restante::api
