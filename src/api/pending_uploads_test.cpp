#include "api/uploads.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"
#include "base/text.h"

namespace restante::api {
namespace {

class PendingUploadsApi : public ::testing::Test {
 protected:
  explicit PendingUploadsApi(desk::UploadRules rules = {}) : api(std::move(rules)) {}

  Answer content(std::string_view file, std::string_view secret, std::string method = "GET",
                 std::vector<http::Header> headers = {}) {
    Ask asked;
    asked.method = std::move(method);
    asked.target = api.path("/pending-uploads/" + std::string(file) + "/content");
    asked.headers = std::move(headers);
    return api.ask(asked.bearer(secret));
  }
  Ask step(std::string_view file, std::string_view verb) {
    Ask asked;
    asked.method = verb.empty() ? "DELETE" : "POST";
    asked.target = api.path("/pending-uploads/" + std::string(file)) + (verb.empty() ? "" : "/") + std::string(verb);
    return asked;
  }
  Answer ack(std::string_view file) { return api.ask(step(file, "ack").bearer(api.agent)); }
  Json state(const std::string& file) {
    const Answer answer = api.get(api.path("/pending-uploads/" + file), api.sender);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return *parse_json(answer.body);
  }
  std::string text(const Json& object, std::string_view name) {
    const Json* member = object.find(name);
    return member && member->if_string() ? *member->if_string() : "(none)";
  }
  void expect_error(const Answer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find("\"code\":\"" + std::string(code) + "\""), std::string::npos) << answer.body;
  }
  std::optional<Time> fetched_at(const std::string& file) {
    // A verb after the fetch: the writer keeps the order.
    (void)api.desk.uploads.ack(api.other, FileId::make(desk::kStart)).take();
    return api.desk.uploads.find(desk::kOperator, api.workspace, *FileId::parse(file))->upload.fetched_at;
  }

  TestApi api;
  const std::string big = std::string(20'000, 'x');  // too much for a row
};

TEST_F(PendingUploadsApi, ContentComesWithHeadersThatLetNoBrowserRunIt) {
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

TEST_F(PendingUploadsApi, AFileWithoutATypeIsOctets) {
  for (const char* type : {"", "no type"}) {
    EXPECT_EQ(content(api.upload(api.sender, "x", "y", type), api.agent).header("Content-Type"),
              "application/octet-stream")
        << type;
  }
}

TEST_F(PendingUploadsApi, RangesAndTagsAreHonouredInEveryPlace) {
  for (const std::string& bytes : {std::string("0123456789"), "0123456789" + big}) {
    const std::string size = std::to_string(bytes.size());
    const std::string file = api.upload(api.sender, "a", bytes);
    const Answer whole = content(file, api.sender);
    EXPECT_EQ(whole.body, bytes);
    const std::string etag = whole.header("ETag");
    const Answer part = content(file, api.sender, "GET", {{"Range", "bytes=2-4"}});
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.body, "234");
    EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/" + size);
    const Answer tail = content(file, api.sender, "GET", {{"Range", "bytes=-1"}});
    EXPECT_EQ(tail.status, 206);
    EXPECT_EQ(tail.body, bytes.substr(bytes.size() - 1));
    const Answer outside = content(file, api.sender, "GET", {{"Range", "bytes=" + size + "-"}});
    EXPECT_EQ(outside.status, 416);
    EXPECT_EQ(outside.header("Content-Range"), "bytes */" + size);
    const Answer same = content(file, api.sender, "GET", {{"If-None-Match", etag}});
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(content(file, api.sender, "GET", {{"If-None-Match", "\"old\""}}).status, 200);
    EXPECT_EQ(content(file, api.sender, "GET", {{"Range", "bytes=2-4"}, {"If-Range", "\"old\""}}).status, 200);
    EXPECT_EQ(content(file, api.sender, "GET", {{"Range", "bytes=2-4"}, {"If-Range", etag}}).status, 206);
    EXPECT_EQ(content(file, api.sender, "GET", {{"Range", "bytes=2-4"}, {"If-Range", ""}}).body, bytes);
    EXPECT_EQ(content(file, api.sender, "GET", {{"Range", "bytes=2-4"}, {"Range", "bytes=6-7"}}).body, bytes);
    EXPECT_EQ(content(file, api.sender, "GET", {{"If-Match", "\"old\", " + etag}}).status, 200);
  }
}

TEST_F(PendingUploadsApi, ARangeOfAHeadIsIgnored) {
  const std::string file = api.upload(api.sender);
  for (const char* range : {"bytes=2-4", "bytes=99-"}) {
    const Answer head = content(file, api.sender, "HEAD", {{"Range", range}});
    EXPECT_EQ(head.status, 200) << range;
    EXPECT_EQ(head.header("Content-Range"), "") << range;
    EXPECT_EQ(head.body, "hello") << "the edge sends its length and drops it";
  }
}

TEST_F(PendingUploadsApi, AnIfMatchForAnotherVersionFailsAndIsNoFetch) {
  const std::string file = api.upload(api.sender);
  const std::string etag = "\"" + to_hex(sha256("hello")) + "\"";
  for (const char* method : {"GET", "HEAD"}) {
    for (const std::string& list : {std::string("\"old\""), "W/" + etag, std::string()}) {
      const Answer refused = content(file, api.agent, method, {{"If-Match", list}});
      EXPECT_EQ(refused.status, 412) << list;
      EXPECT_NE(refused.body.find(R"("code":"precondition_failed")"), std::string::npos) << refused.body;
    }
  }
  EXPECT_FALSE(fetched_at(file));
}

TEST_F(PendingUploadsApi, OnlyAGetByTheAgentIsAFetch) {
  const std::string file = api.upload(api.sender);
  (void)content(file, api.agent, "HEAD");
  (void)content(file, api.sender);
  (void)content(file, api.admin);
  (void)content(file, api.agent, "GET", {{"Range", "bytes=99-"}});
  EXPECT_FALSE(fetched_at(file));
  (void)content(file, api.agent);
  EXPECT_EQ(fetched_at(file), desk::kStart);
}

TEST_F(PendingUploadsApi, ADeletedFileIsTheSame404ForEveryReason) {
  const std::string acked = api.upload(api.sender);
  EXPECT_EQ(ack(acked).body, R"({"acked":true})");
  EXPECT_EQ(ack(acked).body, R"({"acked":true})");
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

TEST_F(PendingUploadsApi, AnInvalidIdIsTheCallersMistakeInEveryVerb) {
  for (const char* file : {"junk", "0196f0c0-0000-7000-8000-00000000000", "..%2f.."}) {
    const Answer kAnswers[] = {api.get(api.path("/pending-uploads/" + std::string(file)), api.sender),
                               content(file, api.agent), ack(file), api.ask(step(file, "fail").bearer(api.agent)),
                               api.ask(step(file, "").bearer(api.sender))};
    for (const Answer& answer : kAnswers) {
      expect_error(answer, 400, "bad_id");
      EXPECT_NE(answer.body.find(R"("field":"fid")"), std::string::npos) << answer.body;
    }
  }
}

TEST_F(PendingUploadsApi, AnExpiredFileIsGoneForAllCallersAndCannotBeAcked) {
  const std::string file = api.upload(api.sender);
  api.desk.clock.advance(std::chrono::hours(24));
  for (const std::string& secret : {api.agent, api.sender, api.admin}) {
    expect_error(content(file, secret), 404, "upload_gone");
  }
  expect_error(ack(file), 404, "upload_gone");
  EXPECT_EQ(text(state(file), "state"), "expired");
  EXPECT_EQ(api.get(api.path("/pending-uploads"), api.agent).body, "[]");
}

TEST_F(PendingUploadsApi, AnAckNeedsNoBodyAndTakesAnyType) {
  struct Case {
    const char* type;
    const char* body;
  };
  for (const Case& c : {Case{"", ""}, Case{"application/x-www-form-urlencoded", "a=b"}, Case{"text/plain", "{"},
                        Case{"application/json", "{}"}}) {
    Ask asked = step(api.upload(api.sender), "ack");
    asked.body = c.body;
    if (*c.type) asked.with("Content-Type", c.type);
    EXPECT_EQ(api.ask(asked.bearer(api.agent)).body, R"({"acked":true})") << c.type;
  }
}

TEST_F(PendingUploadsApi, ARepeatedAckKeepsTheFirstTimeAndAppendsOneReceipt) {
  const std::string file = api.upload(api.sender);
  EXPECT_EQ(ack(file).status, 200);
  api.desk.clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(ack(file).status, 200);
  EXPECT_EQ(text(state(file), "acked_at"), format_time(desk::kStart));
  const auto rows = api.desk.inbox_of(api.workspace);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].activity_type, "upload_receipt");
  EXPECT_EQ(rows[1].method, "chat_upload_acked");
}

TEST_F(PendingUploadsApi, AFailureIsReportedWithItsReasonForAnyContentType) {
  struct Case {
    const char* type;
    const char* body;
    const char* reason;
  };
  for (const Case& c : {Case{"application/json", R"({"reason":"disk full"})", "disk full"},
                        Case{"application/x-www-form-urlencoded", R"({"reason":"by curl"})", "by curl"},
                        Case{"text/plain", "no reason at all", "(none)"}, Case{"", "", "(none)"},
                        Case{"text/plain", R"(["reason"])", "(none)"}, Case{"application/json", "{}", "(none)"}}) {
    const std::string file = api.upload(api.sender);
    Ask asked = step(file, "fail");
    asked.body = c.body;
    if (*c.type) asked.with("Content-Type", c.type);
    EXPECT_EQ(api.ask(asked.bearer(api.agent)).body, R"({"failed":true})") << c.body;
    EXPECT_EQ(text(state(file), "state"), "failed");
    EXPECT_EQ(text(state(file), "reason"), c.reason);
    EXPECT_EQ(content(file, api.agent).status, 200) << "it stays until its time";
  }
  EXPECT_EQ(api.desk.inbox_of(api.workspace).back().method, "chat_upload_failed");
}

TEST_F(PendingUploadsApi, AnInvalidFailureReportIsRefused) {
  const std::string file = api.upload(api.sender);
  const auto fail = [&](const std::string& body) {
    Ask asked = step(file, "fail");
    return api.ask(asked.bearer(api.agent).json(body));
  };
  expect_error(fail("{"), 400, "bad_json");
  expect_error(fail("[]"), 400, "bad_json");
  expect_error(fail(R"({"reason":7})"), 400, "bad_field");
  expect_error(fail(R"({"reason":"a\u0000b"})"), 400, "nul_not_allowed");
  EXPECT_EQ(text(state(file), "state"), "staged");
  EXPECT_EQ(ack(file).status, 200);
  expect_error(fail(R"({"reason":"late"})"), 404, "upload_gone");
}

TEST_F(PendingUploadsApi, ARecallIsForItsSenderAndTheOperatorAndNotOnceItIsAcked) {
  const std::string mine = api.upload(api.sender);
  const std::string another = api.desk.give_token(TokenKind::sender, api.workspace);
  const auto recallable = [&](const std::string& file, std::string_view who) {
    const Answer one = api.get(api.path("/pending-uploads/" + file), who);
    return one.body.find(R"("recallable":true)") != std::string::npos;
  };
  const auto listed = [&](std::string_view who) {
    return api.get(api.path("/pending-uploads"), who).body.find(R"("recallable":true)") != std::string::npos;
  };
  for (const std::string& who : {api.sender, api.admin}) EXPECT_TRUE(recallable(mine, who) && listed(who));
  for (const std::string& who : {another, api.agent}) EXPECT_FALSE(recallable(mine, who) || listed(who));
  EXPECT_FALSE(recallable(api.upload(api.admin), api.sender)) << "the operator's";
  expect_error(api.ask(step(mine, "").bearer(another)), 404, "upload_gone");
  expect_error(api.ask(step(mine, "").bearer(api.agent)), 404, "upload_gone");
  EXPECT_EQ(api.ask(step(mine, "").bearer(api.sender)).body, R"({"recalled":true})");
  expect_error(api.ask(step(mine, "").bearer(api.sender)), 404, "upload_gone");
  expect_error(content(mine, api.agent), 404, "upload_gone");
  expect_error(ack(mine), 404, "upload_gone");
  EXPECT_EQ(text(state(mine), "state"), "recalled");
  EXPECT_EQ(api.desk.inbox_of(api.workspace).back().method, "chat_upload_recalled");
  EXPECT_EQ(api.ask(step(api.upload(api.sender), "").bearer(api.admin)).status, 200);
  const std::string taken = api.upload(api.sender);
  EXPECT_EQ(ack(taken).status, 200);
  EXPECT_FALSE(recallable(taken, api.sender) || recallable(mine, api.sender)) << "one is acked, one recalled";
  expect_error(api.ask(step(taken, "").bearer(api.sender)), 409, "upload_already_acked");
}

TEST_F(PendingUploadsApi, AnAgentMayRecallFilesItSentToItselfAndPeopleMayNot) {
  const std::string file = api.upload(api.agent);
  const auto recallable = [&](std::string_view who) {
    const Answer one = api.get(api.path("/pending-uploads/" + file), who);
    return one.body.find(R"("recallable":true)") != std::string::npos;
  };
  EXPECT_TRUE(recallable(api.agent) && recallable(api.admin));
  EXPECT_FALSE(recallable(api.sender));
  expect_error(api.ask(step(file, "").bearer(api.sender)), 404, "upload_gone");
  EXPECT_EQ(api.ask(step(file, "").bearer(api.agent)).body, R"({"recalled":true})");
  EXPECT_EQ(text(state(file), "state"), "recalled");
}

TEST_F(PendingUploadsApi, TheStateIsKnownAlsoAfterTheSweep) {
  const std::string taken = api.upload(api.sender, "taken.txt", big);
  const std::string left = api.upload(api.sender, "left.txt");
  (void)content(taken, api.agent);
  EXPECT_EQ(fetched_at(taken), desk::kStart);
  EXPECT_EQ(text(state(taken), "state"), "fetched");
  EXPECT_EQ(ack(taken).status, 200);
  api.desk.clock.advance(std::chrono::hours(24));
  EXPECT_EQ(api.desk.sweep.run_once()->acked, 1);
  const Json upload_status = state(taken);
  EXPECT_EQ(text(upload_status, "state"), "acked");
  EXPECT_EQ(text(upload_status, "name"), "taken.txt");
  EXPECT_EQ(text(upload_status, "fetched_at"), format_time(desk::kStart));
  EXPECT_EQ(text(upload_status, "acked_at"), format_time(desk::kStart));
  EXPECT_NE(text(upload_status, "ended_at"), "(none)");
  EXPECT_EQ(text(state(left), "state"), "expired");
  expect_error(content(taken, api.sender), 404, "upload_gone");
  expect_error(api.get(api.path("/pending-uploads/" + FileId::make(desk::kStart).text()), api.sender), 404,
               "upload_gone");
}

TEST_F(PendingUploadsApi, TheListIsPagedOldestFirst) {
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i) files.push_back(api.upload(api.sender, "f" + std::to_string(i)));
  EXPECT_EQ(ack(files[1]).status, 200);
  const auto names = [&](const std::string& query) {
    const Answer answer = api.get(api.path("/pending-uploads" + query), api.agent);
    const Json rows = *parse_json(answer.body);
    std::string all;
    for (const Json& row : *rows.if_array()) all += text(row, "name") + " ";
    return all;
  };
  EXPECT_EQ(names(""), "f0 f2 f3 f4 ");
  EXPECT_EQ(names("?limit=2"), "f0 f2 ");
  EXPECT_EQ(names("?limit=2&after=" + files[2]), "f3 f4 ");
  EXPECT_EQ(names("?limit=0"), "f0 ");
  EXPECT_EQ(names("?limit=-99999999999999999999"), "f0 ") << "a number beyond any number is cut like any other";
  EXPECT_EQ(names("?limit=junk"), "f0 f2 f3 f4 ");
  expect_error(api.get(api.path("/pending-uploads?after=junk"), api.agent), 400, "bad_id");
}

TEST_F(PendingUploadsApi, AFetchDuringTheSweepGetsTheWholeBody) {
  for (const std::string& bytes : {std::string("small"), big}) {
    const std::string file = api.upload(api.sender, "f", bytes);
    http::Request request;
    const std::string head = "GET " + api.path("/pending-uploads/" + file + "/content") +
                             " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + api.agent + "\r\n\r\n";
    ASSERT_FALSE(http::parse_head(head, http::Limits(), request));
    const auto match = api.router.match(request);
    ASSERT_FALSE(match.route->admit(request));
    http::Response begun = match.route->handle(request);
    api.desk.clock.advance(std::chrono::hours(24));
    EXPECT_EQ(api.desk.sweep.run_once()->expired, 1);
    EXPECT_EQ(api.desk.blob_files(), 0u);
    EXPECT_EQ(TestApi::settle(std::move(begun)).body, bytes);
    expect_error(content(file, api.sender), 404, "upload_gone");
  }
}

class GenerousPendingUploadsApi : public PendingUploadsApi {
 protected:
  GenerousPendingUploadsApi() : PendingUploadsApi(rules()) {}
  static desk::UploadRules rules() {
    desk::UploadRules rules;
    rules.acked_content = desk::AckedContent::everyone;
    return rules;
  }
};

TEST_F(GenerousPendingUploadsApi, TheAgentMayReadAFileItHasAckedAndThatIsNoFetch) {
  const std::string file = api.upload(api.sender);
  EXPECT_EQ(ack(file).status, 200);
  EXPECT_EQ(content(file, api.agent).body, "hello");
  EXPECT_FALSE(fetched_at(file));
}

// The disk returns other bytes than were staged, and the agent has noticed it by the digest.
TEST_F(PendingUploadsApi, DamagedContentIsRefusedForEveryRequestAndTheRowHasTheReason) {
  const std::string file = api.upload(api.sender, "a.bin", big);
  const auto row = api.desk.store->find_upload(api.workspace, *FileId::parse(file));
  ASSERT_TRUE(row.has_value());
  const auto path = api.desk.folder.path() / "blobs" / row->blob_key.substr(30) / row->blob_key;
  std::filesystem::resize_file(path, 19'999);
  std::filesystem::resize_file(path, 20'000);
  EXPECT_EQ(content(file, api.agent).status, 200) << "not detected yet";
  EXPECT_EQ(api.ask(step(file, "fail").bearer(api.agent).json(R"({"reason":"sha256 differs"})")).status, 200);
  EXPECT_EQ(text(state(file), "reason"), "sha256 differs");
  EXPECT_EQ(text(state(file), "damage"), "(none)");
  api.desk.uploads.integrity().tick();

  const Answer refused = content(file, api.agent);
  expect_error(refused, 500, "integrity_error");
  EXPECT_NE(refused.body.find(R"("damage":"changed")"), std::string::npos) << refused.body;
  EXPECT_EQ(refused.header("Retry-After"), "") << "asking again is of no use";
  EXPECT_EQ(refused.header("Repr-Digest"), "");
  for (const std::string& who : {api.agent, api.sender, api.admin}) {
    expect_error(content(file, who), 500, "integrity_error");
    EXPECT_EQ(content(file, who, "HEAD").status, 500);
    EXPECT_EQ(content(file, who, "GET", {{"Range", "bytes=0-9"}}).status, 500);
  }
  const Json report = state(file);
  EXPECT_EQ(text(report, "state"), "failed");
  EXPECT_EQ(text(report, "damage"), "changed");
  EXPECT_EQ(text(report, "reason"), sentence_of(UploadDamage::changed));
  const Answer waiting = api.get(api.path("/pending-uploads"), api.agent);
  EXPECT_NE(waiting.body.find(R"("damage":"changed")"), std::string::npos) << "it is listed until its time";
  EXPECT_EQ(ack(file).status, 200);
  expect_error(content(file, api.agent), 404, "upload_gone");
}

TEST_F(PendingUploadsApi, MissingContentIsReportedAsMissing) {
  const std::string file = api.upload(api.sender, "a.bin", big);
  api.desk.blobs->drop(api.desk.store->find_upload(api.workspace, *FileId::parse(file))->blob_key);
  const Answer refused = content(file, api.agent);
  expect_error(refused, 410, "content_missing");
  EXPECT_NE(refused.body.find(R"(is missing; it has to be sent again","code")"), std::string::npos) << refused.body;
  EXPECT_NE(refused.body.find(R"("damage":"missing")"), std::string::npos) << refused.body;
  EXPECT_FALSE(fetched_at(file)) << "nothing was fetched";
  EXPECT_EQ(text(state(file), "damage"), "missing");
  EXPECT_EQ(api.ask(step(file, "").bearer(api.sender)).status, 200) << "it can still be recalled";
  EXPECT_EQ(text(state(file), "state"), "recalled");
  EXPECT_EQ(text(state(file), "damage"), "missing");
}

}  // namespace
}  // namespace restante::api
