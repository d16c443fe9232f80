#include "agent/courier.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "agent/test_folder.h"
#include "base/text.h"
#include "client/test_server.h"

namespace restante::agent {
namespace {

using Brought = Courier::Brought;
using client::Peer;
using client::TestServer;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBytes = "0123456789abcdefghij";

class CourierTest : public testing::Test {
 protected:
  CourierTest() {
    record_.parcel = {FileId::parse("01890a5d-ac96-774b-bcce-b302099a8057").value(), "a.bin", kBytes.size(),
                      to_hex(sha256(kBytes))};
  }

  Brought bring(std::vector<TestServer::Script> scripts) {
    TestServer server(std::move(scripts));
    Platform platform(client::parse_url(server.url()).value(), "token");
    platform.use_workspace("w");
    return Courier(platform, Landing(folder_.path()), largest_).bring(record_);
  }
  void expect_landed() {
    EXPECT_EQ(record_.where, FileRecord::Where::landed);
    EXPECT_EQ(TestFolder::read(record_.path), kBytes);
  }

  TestFolder folder_;
  FileRecord record_;
  std::uint64_t largest_ = 0;
};

TEST_F(CourierTest, AFileIsFetchedWithTheTokenVerifiedAndLanded) {
  std::string asked;
  EXPECT_EQ(bring({[&](Peer& peer) { asked = peer.read_request(), peer.answer("200 OK", kBytes); }}), Brought::landed);
  expect_landed();
  EXPECT_THAT(asked,
              HasSubstr("GET /workspaces/w/pending-uploads/01890a5d-ac96-774b-bcce-b302099a8057/content HTTP/1.1"));
  EXPECT_THAT(asked, HasSubstr("\r\nAuthorization: Bearer token\r\n"));
}

TEST_F(CourierTest, WhatLiesThereAlreadyIsNotFetchedAgain) {
  EXPECT_EQ(bring({[](Peer& peer) { peer.read_request(), peer.answer("200 OK", kBytes); }}), Brought::landed);
  EXPECT_EQ(bring({}), Brought::landed);
  expect_landed();
}

TEST_F(CourierTest, ACutIsResumedWhereItHappened) {
  std::string asked;
  EXPECT_EQ(
      bring({[](Peer& peer) { peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456"); },
             [&](Peer& peer) {
               asked = peer.read_request();
               peer.answer("206 Partial Content", kBytes.substr(7), "Content-Range: bytes 7-19/20\r\n");
             }}),
      Brought::landed);
  EXPECT_THAT(asked, HasSubstr("\r\nRange: bytes=7-\r\n"));
  expect_landed();
}

TEST_F(CourierTest, AServerThatKnowsNoRangesStartsAgain) {
  EXPECT_EQ(
      bring({[](Peer& peer) { peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456"); },
             [](Peer& peer) { peer.read_request(), peer.answer("200 OK", kBytes); }}),
      Brought::landed);
  expect_landed();
}

TEST_F(CourierTest, AnotherRangeThanAskedIsNotAppended) {
  EXPECT_EQ(
      bring({[](Peer& peer) { peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456"); },
             [](Peer& peer) {
               peer.read_request();
               peer.answer("206 Partial Content", kBytes.substr(8), "Content-Range: bytes 8-19/20\r\n");
             }}),
      Brought::wrong);
  EXPECT_EQ(record_.where, FileRecord::Where::waiting);
}

TEST_F(CourierTest, WrongBytesAreFetchedOnceMoreAndThenReported) {
  const auto wrong = [](Peer& peer) {
    while (!peer.read_request().empty()) peer.answer("200 OK", std::string(20, 'x'));
  };
  EXPECT_EQ(bring({wrong}), Brought::wrong);
  EXPECT_THAT(record_.reason, HasSubstr("sha256"));
  EXPECT_EQ(record_.trouble, "failed");
  EXPECT_THAT(TestFolder::names(folder_.uploads()), ElementsAre());
}

TEST_F(CourierTest, AStaleLeftoverOnDiskHealsItself) {
  std::filesystem::create_directories(folder_.uploads());
  TestFolder::write(folder_.uploads() / ".part-01890a5dac96774bbcceb302099a8057", "junk of the sort");
  const auto serve = [](Peer& peer) {
    for (std::string asked; !(asked = peer.read_request()).empty();) {
      asked.find("Range: bytes=16-") == std::string::npos
          ? peer.answer("200 OK", kBytes)
          : peer.answer("206 Partial Content", kBytes.substr(16), "Content-Range: bytes 16-19/20\r\n");
    }
  };
  EXPECT_EQ(bring({serve}), Brought::landed);
  expect_landed();
}

TEST_F(CourierTest, MoreBytesThanAnnouncedAreNotTaken) {
  EXPECT_EQ(bring({[](Peer& peer) { peer.read_request(), peer.answer("200 OK", kBytes + "more"); }}), Brought::wrong);
  EXPECT_THAT(record_.reason, HasSubstr("larger"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.uploads()));
}

TEST_F(CourierTest, WhatIsLargerThanTheServersLimitIsNotEvenAskedFor) {
  largest_ = kBytes.size() - 1;
  EXPECT_EQ(bring({}), Brought::wrong);
  EXPECT_THAT(record_.reason, HasSubstr("limit of 19 bytes"));
}

TEST_F(CourierTest, BytesThatTheServerItselfDoesNotTrustAreWrong) {
  EXPECT_EQ(bring({[](Peer& peer) {
              peer.read_request(), peer.answer("502 Bad Gateway", R"({"error":"x","code":"integrity_error"})");
            }}),
            Brought::wrong);
}

TEST_F(CourierTest, AFileThatTheServerHasLostIsNotAskedForAgainAndSaysWhy) {
  EXPECT_EQ(bring({[](Peer& peer) {
              peer.read_request(), peer.answer("410 Gone", R"({"error":"is missing","code":"content_missing"})");
            }}),
            Brought::wrong);
  EXPECT_EQ(record_.trouble, "failed");
  EXPECT_THAT(record_.reason, HasSubstr("is missing"));
}

TEST_F(CourierTest, AFileThatIsGoneSaysWhatBecameOfIt) {
  EXPECT_EQ(bring({[](Peer& peer) {
              peer.read_request(), peer.answer("404 Not Found", R"({"error":"x","code":"upload_gone"})");
              peer.read_request(), peer.answer("200 OK", R"({"state":"recalled"})");
            }}),
            Brought::gone);
  EXPECT_EQ(record_.trouble, "recalled");
  EXPECT_EQ(record_.where, FileRecord::Where::gone);
}

TEST_F(CourierTest, AFileThatIsRecalledWhileItComesLeavesNothing) {
  EXPECT_EQ(
      bring({[](Peer& peer) { peer.read_request(), peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456"); },
             [](Peer& peer) {
               peer.read_request(), peer.answer("404 Not Found", R"({"error":"x","code":"upload_gone"})");
               peer.read_request(), peer.answer("200 OK", R"({"state":"recalled"})");
             }}),
      Brought::gone);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.uploads()));
}

TEST_F(CourierTest, AServerInTroubleIsAskedLater) {
  EXPECT_EQ(bring({[](Peer& peer) { peer.read_request(), peer.answer("503 Service Unavailable", "{}"); }}),
            Brought::later);
  EXPECT_EQ(record_.trouble, "missing");
}

}  // namespace
}  // namespace restante::agent
