#include "agent/file_downloader.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/test_folder.h"
#include "base/text.h"
#include "client/test_server.h"

namespace restante::agent {
namespace {

using DownloadResult = FileDownloader::DownloadResult;
using client::TestConnection;
using client::TestServer;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBytes = "0123456789abcdefghij";

class FileDownloaderTest : public testing::Test {
 protected:
  FileDownloaderTest() {
    record_.announced = {FileId::parse("01890a5d-ac96-774b-bcce-b302099a8057").value(), "a.bin", kBytes.size(),
                         to_hex(sha256(kBytes))};
  }

  DownloadResult download(std::vector<TestServer::Script> scripts) {
    TestServer server(std::move(scripts));
    ApiClient api(client::parse_url(server.url()).value(), "token");
    api.use_workspace("w");
    return FileDownloader(api, LandingFolder(folder_.path()), largest_).download(record_);
  }
  void expect_landed() {
    EXPECT_EQ(record_.where, FileRecord::Where::landed);
    EXPECT_EQ(TestFolder::read(record_.path), kBytes);
  }

  TestFolder folder_;
  const std::filesystem::path uploads_ = folder_ / ".molecule" / "chat-uploads";
  FileRecord record_;
  std::uint64_t largest_ = 0;
};

TEST_F(FileDownloaderTest, AFileIsFetchedWithTheTokenVerifiedAndLanded) {
  std::string request;
  EXPECT_EQ(download({[&](TestConnection& peer) { request = peer.read_request(), peer.answer("200 OK", kBytes); }}),
            DownloadResult::landed);
  expect_landed();
  EXPECT_THAT(request,
              HasSubstr("GET /workspaces/w/pending-uploads/01890a5d-ac96-774b-bcce-b302099a8057/content HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("\r\nAuthorization: Bearer token\r\n"));
}

TEST_F(FileDownloaderTest, AFileThatHasLandedIsNotFetchedAgain) {
  EXPECT_EQ(download({[](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", kBytes); }}),
            DownloadResult::landed);
  EXPECT_EQ(download({}), DownloadResult::landed);
  expect_landed();
}

TEST_F(FileDownloaderTest, ABrokenDownloadIsResumedWhereItBrokeOff) {
  std::string request;
  EXPECT_EQ(download({[](TestConnection& peer) {
                        peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456");
                      },
                      [&](TestConnection& peer) {
                        request = peer.read_request();
                        peer.answer("206 Partial Content", kBytes.substr(7), "Content-Range: bytes 7-19/20\r\n");
                      }}),
            DownloadResult::landed);
  EXPECT_THAT(request, HasSubstr("\r\nRange: bytes=7-\r\n"));
  expect_landed();
}

TEST_F(FileDownloaderTest, WithAServerThatKnowsNoRangesTheDownloadStartsAgain) {
  EXPECT_EQ(download({[](TestConnection& peer) {
                        peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456");
                      },
                      [](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", kBytes); }}),
            DownloadResult::landed);
  expect_landed();
}

TEST_F(FileDownloaderTest, AnotherRangeThanRequestedIsNotAppended) {
  EXPECT_EQ(download({[](TestConnection& peer) {
                        peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456");
                      },
                      [](TestConnection& peer) {
                        peer.read_request();
                        peer.answer("206 Partial Content", kBytes.substr(8), "Content-Range: bytes 8-19/20\r\n");
                      }}),
            DownloadResult::wrong);
  EXPECT_EQ(record_.where, FileRecord::Where::waiting);
}

TEST_F(FileDownloaderTest, WrongContentIsFetchedOnceMoreAndThenReported) {
  const auto wrong = [](TestConnection& peer) {
    while (!peer.read_request().empty()) peer.answer("200 OK", std::string(20, 'x'));
  };
  EXPECT_EQ(download({wrong}), DownloadResult::wrong);
  EXPECT_THAT(record_.reason, HasSubstr("sha256"));
  EXPECT_EQ(record_.trouble, "failed");
  EXPECT_THAT(TestFolder::names(uploads_), ElementsAre());
}

TEST_F(FileDownloaderTest, AWrongPartialFileOnDiskIsReplaced) {
  std::filesystem::create_directories(uploads_);
  TestFolder::write(uploads_ / ".part-01890a5dac96774bbcceb302099a8057", "junk of the sort");
  const auto serve = [](TestConnection& peer) {
    for (std::string request; !(request = peer.read_request()).empty();) {
      request.find("Range: bytes=16-") == std::string::npos
          ? peer.answer("200 OK", kBytes)
          : peer.answer("206 Partial Content", kBytes.substr(16), "Content-Range: bytes 16-19/20\r\n");
    }
  };
  EXPECT_EQ(download({serve}), DownloadResult::landed);
  expect_landed();
}

TEST_F(FileDownloaderTest, MoreBytesThanAnnouncedAreRefused) {
  EXPECT_EQ(download({[](TestConnection& peer) { peer.read_request(), peer.answer("200 OK", kBytes + "more"); }}),
            DownloadResult::wrong);
  EXPECT_THAT(record_.reason, HasSubstr("larger"));
  EXPECT_TRUE(std::filesystem::is_empty(uploads_));
}

TEST_F(FileDownloaderTest, AFileLargerThanTheServersLimitIsNotRequested) {
  largest_ = kBytes.size() - 1;
  EXPECT_EQ(download({}), DownloadResult::wrong);
  EXPECT_THAT(record_.reason, HasSubstr("limit of 19 bytes"));
}

TEST_F(FileDownloaderTest, ContentThatTheServerReportsAsDamagedIsWrong) {
  EXPECT_EQ(download({[](TestConnection& peer) {
              peer.read_request(), peer.answer("502 Bad Gateway", R"({"error":"x","code":"integrity_error"})");
            }}),
            DownloadResult::wrong);
}

TEST_F(FileDownloaderTest, AFileThatTheServerHasLostIsNotRequestedAgainAndHasAReason) {
  EXPECT_EQ(download({[](TestConnection& peer) {
              peer.read_request(), peer.answer("410 Gone", R"({"error":"is missing","code":"content_missing"})");
            }}),
            DownloadResult::wrong);
  EXPECT_EQ(record_.trouble, "failed");
  EXPECT_THAT(record_.reason, HasSubstr("is missing"));
}

TEST_F(FileDownloaderTest, AFileThatTheServerNoLongerHasGetsItsStateThere) {
  EXPECT_EQ(download({[](TestConnection& peer) {
              peer.read_request(), peer.answer("404 Not Found", R"({"error":"x","code":"upload_gone"})");
              peer.read_request(), peer.answer("200 OK", R"({"state":"recalled"})");
            }}),
            DownloadResult::gone);
  EXPECT_EQ(record_.trouble, "recalled");
  EXPECT_EQ(record_.where, FileRecord::Where::gone);
}

TEST_F(FileDownloaderTest, AFileThatIsRecalledDuringTheDownloadLeavesNothing) {
  EXPECT_EQ(download({[](TestConnection& peer) {
                        peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456");
                      },
                      [](TestConnection& peer) {
                        peer.read_request(), peer.answer("404 Not Found", R"({"error":"x","code":"upload_gone"})");
                        peer.read_request(), peer.answer("200 OK", R"({"state":"recalled"})");
                      }}),
            DownloadResult::gone);
  EXPECT_TRUE(std::filesystem::is_empty(uploads_));
}

TEST_F(FileDownloaderTest, WhenTheServerIsUnavailableTheDownloadIsTriedLater) {
  EXPECT_EQ(download({[](TestConnection& peer) { peer.read_request(), peer.answer("503 Service Unavailable", "{}"); }}),
            DownloadResult::later);
  EXPECT_EQ(record_.trouble, "missing");
}

}  // namespace
}  // namespace restante::agent
