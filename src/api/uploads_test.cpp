#include "api/uploads.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"
#include "base/text.h"

namespace restante::api {
namespace {

class UploadsApi : public ::testing::Test {
 protected:
  explicit UploadsApi(desk::UploadRules rules = {}) : api(std::move(rules)) {}

  Ask upload(std::string body, std::string type = "multipart/form-data; boundary=b") {
    Ask asked;
    asked.method = "POST";
    asked.target = api.path("/chat/uploads");
    asked.body = std::move(body);
    return asked.with("Content-Type", std::move(type));
  }
  Answer send(std::string_view type, std::string body) {
    return api.ask(upload(std::move(body), std::string(type)).bearer(api.sender));
  }
  static std::string with_disposition(std::string_view parameters, std::string_view bytes) {
    return "--b\r\nContent-Disposition: form-data; " + std::string(parameters) + "\r\n\r\n" + std::string(bytes) +
           "\r\n";
  }
  static std::string part(std::string_view name, std::string_view bytes) {
    return with_disposition("name=\"files\"; filename=\"" + std::string(name) + "\"", bytes);
  }
  static std::string form(std::string_view name, std::string_view bytes) { return part(name, bytes) + "--b--\r\n"; }
  void expect_error(const Answer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find("\"code\":\"" + std::string(code) + "\""), std::string::npos) << answer.body;
  }
  void expect_nothing() {
    EXPECT_EQ(api.desk.inbox_of(api.workspace).size(), 0u);
    EXPECT_EQ(api.desk.blob_files(), 0u);
  }

  TestApi api;
  const std::string big = std::string(20'000, 'x');  // too much for a row
};

TEST_F(UploadsApi, RefusalsNameTheFaultAndStoreNothing) {
  struct Case {
    const char* name;
    std::string type;
    std::string body;
    int status;
    std::string mentions;
  };
  const std::string type = "multipart/form-data; boundary=b";
  std::string many;
  for (int i = 0; i < 65; ++i) many += part("f", "x");
  const Case kCases[] = {
      {"not multipart", "application/json", "{}", 400, "malformed multipart body"},
      {"mixed", "multipart/mixed; boundary=b", part("a", "x") + "--b--\r\n", 400, "malformed multipart body"},
      {"no boundary", "multipart/form-data", part("a", "x") + "--b--\r\n", 400, "malformed multipart body"},
      {"cut", type, part("a", "x") + part("b", "y"), 400, "malformed multipart body"},
      {"no header", type, part("a", big) + "--b\r\nno colon\r\n\r\nx\r\n--b--\r\n", 400, "malformed multipart body"},
      {"no file", type, "--b\r\nContent-Disposition: form-data; name=\"files\"\r\n\r\ntext\r\n--b--\r\n", 400,
       "no files field in request"},
      {"a file in another field", type, with_disposition("name=\"file\"; filename=\"a\"", "x") + "--b--\r\n", 400,
       "no files field in request"},
      {"a malformed name alone", type,
       part("a", big) + with_disposition("name=\"files\"; filename*=UTF-8''%zz", "x") + "--b--\r\n", 400,
       "malformed multipart body"},
      {"a name in parts", type,
       part("a", big) + with_disposition("name=\"files\"; filename*0=\"b\"; filename*1=\"c\"", "x") + "--b--\r\n", 400,
       "malformed multipart body"},
      {"one of two files without a filename", type,
       part("a", big) + with_disposition("name=\"files\"", "x") + "--b--\r\n", 400,
       "malformed multipart body: every part with the field name"},
      {"nothing chosen", type, part("", "") + "--b--\r\n", 400, "no files field in request"},
      {"empty file", type, part("a", big) + part("empty.txt", "") + "--b--\r\n", 400, R"("filename":"empty.txt")"},
      {"too many", type, many + "--b--\r\n", 400, "too many files (limit 64)"},
      {"a long field", type,
       part("a", big) + "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n" + std::string(65'537, 'x') +
           "\r\n--b--\r\n",
       413, R"("code":"field_too_large")"},
  };
  for (const Case& c : kCases) {
    const Answer answer = send(c.type, c.body);
    EXPECT_EQ(answer.status, c.status) << c.name;
    EXPECT_NE(answer.body.find(c.mentions), std::string::npos) << c.name << ": " << answer.body;
  }
  expect_nothing();
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

TEST_F(UploadsApi, OtherFieldsAndFieldsWithoutAChosenFileAreIgnored) {
  const Answer answer =
      send("multipart/form-data; boundary=b",
           with_disposition("name=\"note\"", "text") + with_disposition("name=\"preview\"; filename=\"\"", "x") +
               part("a.txt", "1") + with_disposition("name=\"files\"", "") +
               with_disposition("name=\"preview\"; filename=\"b.png\"", big) +
               with_disposition("name=\"preview\"; filename=\"c.png\"", "") +
               with_disposition("name=\"preview\"; filename=\"\"", "") + part("", "") + "--b--\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(api.desk.inbox_of(api.workspace).size(), 1u);
}

TEST_F(UploadsApi, AnEscapedQuoteIsPartOfTheFileName) {
  const Answer answer = send("multipart/form-data; boundary=b", form("a \\\"draft\\\".txt", "x"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find(R"("name":"a__draft_.txt")"), std::string::npos) << answer.body;
}

TEST_F(UploadsApi, EveryFileHasItsRowInTheInbox) {
  EXPECT_EQ(send("multipart/form-data; boundary=b", part("one.txt", "1") + part("two", big) + "--b--\r\n").status, 200);
  const auto rows = api.desk.inbox_of(api.workspace);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].activity_type, "a2a_receive");
  EXPECT_EQ(rows[0].method, "chat_upload_receive");
  EXPECT_EQ(rows[0].summary, "chat_upload_receive: one.txt");
  EXPECT_FALSE(rows[0].source_id);
  EXPECT_EQ(rows[0].target_id, api.workspace);
  EXPECT_EQ(rows[0].status, "ok");
  const auto body = parse_json(rows[0].request_body);
  ASSERT_TRUE(body.has_value());
  for (const char* key : {"file_id", "name", "filename", "mimeType", "size", "uri", "sha256"}) {
    EXPECT_TRUE(body->find(key)) << key;
  }
  EXPECT_FALSE(body->find("uploaded_by")) << "only for the agent's own uploads";
  api.upload(api.agent);
  EXPECT_EQ(parse_json(api.desk.inbox_of(api.workspace).back().request_body)->text("uploaded_by"), "agent");
}

TEST_F(UploadsApi, AFileThatIsTooLargeIsRefusedWithItsNameAndTheCapAndNothingIsStored) {
  const Answer answer =
      send("multipart/form-data; boundary=b",
           part("one", big) + form("big one.bin", std::string(static_cast<std::size_t>(kMaxFileBytes) + 1, 'x')));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body,
            R"({"error":"file exceeds per-file cap","code":"file_too_large","filename":"big_one.bin","max":26214400})");
  expect_nothing();
}

TEST_F(UploadsApi, ExactlyTheCapPasses) {
  const std::string most(static_cast<std::size_t>(kMaxFileBytes), 'x');
  const Answer answer = send("multipart/form-data; boundary=b", form("most", most));
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find(to_hex(sha256(most))), std::string::npos);
}

TEST_F(UploadsApi, AMissingOrRemovedWorkspaceTakesNothing) {
  Ask asked = upload(form("a", "x"));
  asked.target = "/workspaces/" + WorkspaceId::make(desk::kStart).text() + "/chat/uploads";
  expect_error(api.ask(asked.bearer(api.admin)), 404, "workspace_not_found");
  EXPECT_TRUE(api.desk.workspaces.remove(api.workspace));
  expect_error(api.ask(upload(form("a", "x")).bearer(api.admin)), 410, "workspace_removed");
}

TEST_F(UploadsApi, ARepeatedUploadIsTheSameUploadWithAnyBoundary) {
  const auto idempotent = [&](std::string body, std::string type = "multipart/form-data; boundary=b",
                              std::string key = "key-1") {
    return api.ask(upload(std::move(body), std::move(type)).bearer(api.sender).with("Idempotency-Key", std::move(key)));
  };
  const Answer first = idempotent(form("a.txt", big));
  EXPECT_EQ(first.status, 200) << first.body;
  const Answer again = idempotent(form("a.txt", big));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, first.body) << "the same file ids";
  std::string other_boundary = form("a.txt", big);
  for (auto at = other_boundary.find("--b"); at != std::string::npos; at = other_boundary.find("--b", at + 3)) {
    other_boundary.replace(at, 3, "--c");
  }
  EXPECT_EQ(idempotent(other_boundary, "multipart/form-data; boundary=c").body, first.body);
  EXPECT_EQ(api.desk.inbox_of(api.workspace).size(), 1u) << "one effect";
  EXPECT_EQ(api.desk.blob_files(), 1u) << "the bytes of a replay are dropped";
  for (const std::string& different :
       {form("b.txt", big), form("a.txt", big + "x"), part("a.txt", big) + form("c", "x")}) {
    expect_error(idempotent(different), 422, "idempotency_mismatch");
  }
  EXPECT_EQ(api.desk.blob_files(), 1u);
  EXPECT_NE(idempotent(form("a.txt", big), "multipart/form-data; boundary=b", "key-2").body, first.body);
  expect_error(idempotent(form("a", "x"), "multipart/form-data; boundary=b", std::string(256, 'k')), 400,
               "bad_idempotency_key");
}

TEST_F(UploadsApi, WhileTheFirstUploadUnderAKeyIsRunningTheSecondIsRefused) {
  http::Request request;
  const std::string head = "POST " + api.path("/chat/uploads") +
                           " HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                           "Content-Length: 100\r\nIdempotency-Key: k\r\nAuthorization: Bearer " +
                           api.sender + "\r\n\r\n";
  ASSERT_FALSE(http::parse_head(head, http::Limits(), request));
  const auto match = api.router.match(request);
  ASSERT_FALSE(match.route->admit(request));
  {
    const auto first = match.route->receive(request);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<http::BodySink>>(first));
    const Answer second = api.ask(upload(form("a", "x")).bearer(api.sender).with("Idempotency-Key", "k"));
    expect_error(second, 409, "idempotency_in_progress");
  }
  EXPECT_EQ(api.ask(upload(form("a", "x")).bearer(api.sender).with("Idempotency-Key", "k")).status, 200)
      << "the first was cut: the key is free";
}

TEST_F(UploadsApi, AnOutgoingFileBelongsToTheAgent) {
  const auto out = [&](std::string_view secret, std::string query = "?direction=out") {
    Ask asked = upload(form("result.txt", "done"));
    asked.target += query;
    return api.ask(asked.bearer(secret));
  };
  const Answer staged = out(api.agent);
  EXPECT_EQ(staged.status, 200) << staged.body;
  EXPECT_EQ(api.desk.inbox_of(api.workspace).size(), 0u);
  EXPECT_EQ(api.get(api.path("/pending-uploads"), api.agent).body, "[]");
  const std::string file = staged.body.substr(staged.body.find(api.workspace.text() + "/") + 37, 36);
  for (const std::string& secret : {api.agent, api.sender, api.admin}) {
    EXPECT_EQ(api.get(api.path("/pending-uploads/" + file + "/content"), secret).body, "done");
  }
  expect_error(out(api.sender), 403, "not_allowed");
  EXPECT_EQ(out(api.admin).status, 200) << "the operator may do everything";
  expect_error(out(api.admin, "?direction=sideways"), 400, "bad_parameter");
  expect_error(out(api.desk.give_token(TokenKind::workspace, api.other)), 401, "invalid_token");
}

TEST_F(UploadsApi, AnAgentUploadsToItselfAsAPersonWould) {
  const auto to_itself = [&](std::string body, std::string query = "", std::string key = "") {
    Ask asked = upload(std::move(body));
    asked.target += query;
    if (!key.empty()) asked.with("Idempotency-Key", key);
    return api.ask(asked.bearer(api.agent));
  };
  const Answer staged = to_itself(form("note.txt", "to myself"));
  EXPECT_EQ(staged.status, 200) << staged.body;
  EXPECT_TRUE(staged.body.starts_with(R"({"files":[{"uri":"platform-pending:)" + api.workspace.text() + "/"));
  const auto rows = api.desk.inbox_of(api.workspace);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].activity_type, "a2a_receive");
  EXPECT_EQ(rows[0].method, "chat_upload_receive");
  EXPECT_FALSE(rows[0].source_id) << "an upload has none, with any sender";
  EXPECT_EQ(rows[0].target_id, api.workspace);
  for (const std::string& secret : {api.agent, api.sender, api.admin}) {
    EXPECT_NE(api.get(api.path("/pending-uploads"), secret).body.find("note.txt"), std::string::npos);
  }
  const std::string file = staged.body.substr(staged.body.find(api.workspace.text() + "/") + 37, 36);
  EXPECT_EQ(api.get(api.path("/pending-uploads/" + file + "/content"), api.agent).body, "to myself");

  const Answer idempotent = to_itself(form("b.txt", "b"), "?direction=in", "k");
  EXPECT_EQ(idempotent.status, 200) << idempotent.body;
  EXPECT_EQ(to_itself(form("b.txt", "b"), "", "k").body, idempotent.body) << "the same upload";
  expect_error(to_itself(form("c.txt", "c"), "", "k"), 422, "idempotency_mismatch");
  EXPECT_EQ(api.desk.inbox_of(api.workspace).back().summary, "chat_upload_receive: b.txt");
  for (const TokenKind kind : {TokenKind::workspace, TokenKind::sender}) {
    const std::string foreign = api.desk.give_token(kind, api.other);
    expect_error(api.ask(upload(form("a", "x")).bearer(foreign)), 401, "invalid_token");
  }
}

TEST_F(UploadsApi, AnAgentsUploadToItsOwnPushWorkspaceGoesToItsCallbackToo) {
  const WorkspaceId pushed = api.desk.make_workspace(DeliveryMode::push);
  Ask asked = upload(form("a", "x"));
  asked.target = "/workspaces/" + pushed.text() + "/chat/uploads";
  const Answer answer = api.ask(asked.bearer(api.desk.give_token(TokenKind::workspace, pushed)));
  expect_error(answer, 503, "no_inbound_secret");
  EXPECT_EQ(api.desk.inbox_of(pushed).size(), 0u) << "nothing is staged";
}

TEST_F(UploadsApi, TheLimitsAreInTheAnswer) {
  Ask asked;
  asked.target = "/uploads/limits";
  EXPECT_EQ(api.ask(asked).body, R"({"per_file_bytes":26214400,"per_request_bytes":134217728,"max_files":64})");
}

class NarrowUploadsApi : public UploadsApi {
 protected:
  NarrowUploadsApi() : UploadsApi(rules()) {}
  desk::UploadRules rules() {
    desk::UploadRules rules;
    rules.quota = {30'000, 5};
    rules.reserve = 1'000;
    rules.free_after = [this](std::uint64_t) { return room; };
    return rules;
  }
  std::uint64_t room = 1'000;
};

TEST_F(NarrowUploadsApi, BeyondTheQuotaIs507AndTheContentIsDropped) {
  EXPECT_EQ(send("multipart/form-data; boundary=b", form("a", big)).status, 200);
  const Answer refused = send("multipart/form-data; boundary=b", form("b", big));
  expect_error(refused, 507, "quota_exceeded");
  EXPECT_NE(refused.body.find(R"("max_bytes":30000)"), std::string::npos) << refused.body;
  EXPECT_EQ(api.desk.blob_files(), 1u);
  expect_error(api.ask(upload(form("b", big)).bearer(api.agent)), 507, "quota_exceeded");
  const Answer keyed = api.ask(upload(form("b", big)).bearer(api.sender).with("Idempotency-Key", "k"));
  expect_error(keyed, 507, "quota_exceeded");
  EXPECT_EQ(api.desk.blob_files(), 1u);
  EXPECT_EQ(api.ask(upload(form("c", "x")).bearer(api.sender).with("Idempotency-Key", "k")).status, 200)
      << "a refusal had no effect and is not kept";
}

TEST_F(NarrowUploadsApi, BelowTheReserveIs507AndStoredFilesAreStillFetchedAndAcked) {
  const std::string file = api.upload(api.sender);
  room = 999;
  expect_error(send("multipart/form-data; boundary=b", form("b", "x")), 507, "insufficient_storage");
  EXPECT_EQ(api.get(api.path("/pending-uploads/" + file + "/content"), api.agent).body, "hello");
  Ask ack;
  ack.method = "POST";
  ack.target = api.path("/pending-uploads/" + file + "/ack");
  EXPECT_EQ(api.ask(ack.bearer(api.agent)).status, 200);
}

class UnstagedUploadsApi : public UploadsApi {
 protected:
  UnstagedUploadsApi() : UploadsApi(rules()) {}
  static desk::UploadRules rules() {
    desk::UploadRules rules;
    rules.staging = false;
    return rules;
  }
};

TEST_F(UnstagedUploadsApi, APollWorkspaceIsAnsweredAsBeforeStagingExisted) {
  const Answer refused = send("multipart/form-data; boundary=b", form("b", "x"));
  expect_error(refused, 422, "no_callback");
  EXPECT_NE(refused.body.find("workspace has no callback URL"), std::string::npos);
  EXPECT_EQ(api.ask(upload(form("b", "x")).bearer(api.agent)).body, refused.body);
  EXPECT_EQ(api.get(api.path("/pending-uploads"), api.agent).body, "[]");
}

}  // namespace
}  // namespace restante::api
