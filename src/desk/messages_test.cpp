#include "desk/messages.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

Result<Envelope> normalise(std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return normalise_message(json ? *json : Json(), kStart);
}

struct Case {
  const char* name;
  const char* sent;
  const char* stored;  // the whole envelope
};

const Case kGood[] = {
    {"complete",
     R"({"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"messageId":"m1","role":"agent",)"
     R"("parts":[{"kind":"text","text":"hi"}]}}})",
     R"({"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"messageId":"m1","role":"agent",)"
     R"("parts":[{"kind":"text","text":"hi"}]}}})"},
    {"bare_is_wrapped",
     R"({"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}})",
     R"({"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}},)"
     R"("jsonrpc":"2.0","id":"m1"})"},
    {"type_becomes_kind",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"text":"hi","kind":"text"}]}}})"},
    {"kind_wins_over_type",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"data","type":"x"}]}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"data","type":"x"}]}}})"},
    {"content_text_becomes_a_part",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","content":"hi"}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}})"},
    {"content_list_becomes_parts",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","content":[{"type":"text","text":"hi"}]}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"text":"hi","kind":"text"}]}}})"},
    {"role_defaults_to_user",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","parts":[{"kind":"text","text":"hi"}]}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","parts":[{"kind":"text","text":"hi"}],"role":"user"}}})"},
    {"a_null_role_is_none",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":null,"parts":[{"kind":"text","text":"hi"}]}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}})"},
    {"unknown_members_stay",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"file","file":{"uri":"x"}}],"metadata":{"n":1.50}},"configuration":{}}})",
     R"({"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m1","role":"user","parts":[{"kind":"file","file":{"uri":"x"}}],"metadata":{"n":1.50}},"configuration":{}}})"},
};

TEST(NormaliseMessage, BringsEveryFormIntoOne) {
  for (const Case& c : kGood) {
    const auto envelope = normalise(c.sent);
    ASSERT_TRUE(envelope.has_value()) << c.name;
    EXPECT_EQ(envelope->json.dump(), c.stored) << c.name;
    EXPECT_EQ(envelope->message_id, "m1") << c.name;
    const auto again = normalise(envelope->json.dump());
    ASSERT_TRUE(again.has_value()) << c.name;
    EXPECT_EQ(again->json.dump(), c.stored) << c.name << ": a second time changes nothing";
  }
}

TEST(NormaliseMessage, FillsAMessageIdThatIsMissingNullOrEmpty) {
  for (const char* id : {"", R"("messageId":null,)", R"("messageId":"",)"}) {
    const auto envelope = normalise(std::string(R"({"method":"message/send","params":{"message":{)") + id +
                                    R"("parts":[{"kind":"text","text":"hi"}]}}})");
    ASSERT_TRUE(envelope.has_value()) << id;
    EXPECT_TRUE(Uuid::parse(envelope->message_id)) << envelope->message_id;
    const Json* stored = envelope->json.find("params")->find("message")->find("messageId");
    EXPECT_EQ(*stored->if_string(), envelope->message_id);
    EXPECT_EQ(*envelope->json.find("id")->if_string(), envelope->message_id);
  }
}

TEST(NormaliseMessage, RefusesWhatIsNoMessage) {
  const std::pair<const char*, const char*> kBad[] = {
      {R"([])", ""},
      {R"("text")", ""},
      {R"({})", "method"},
      {R"({"method":5,"params":{}})", "method"},
      {R"({"method":"message/stream","params":{"message":{"parts":[{"kind":"text","text":"x"}]}}})", "method"},
      {R"({"method":"message/send"})", "params"},
      {R"({"method":"message/send","params":[]})", "params"},
      {R"({"method":"message/send","params":{"message":"hi"}})", "params"},
      {R"({"method":"message/send","params":{"message":{}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"parts":[]}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"parts":{}}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"parts":["text"]}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"content":7}}})", "content"},
      {R"({"method":"message/send","params":{"message":{"content":[]}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"messageId":7,"parts":[{"kind":"text","text":"x"}]}}})",
       "messageId"},
      {R"({"method":"message/send","params":{"message":{"role":7,"parts":[{"kind":"text","text":"x"}]}}})", "role"},
  };
  for (const auto& [text, field] : kBad) {
    const auto envelope = normalise(text);
    ASSERT_FALSE(envelope.has_value()) << text;
    EXPECT_EQ(envelope.error().error_class(), ErrorClass::bad_request) << text;
    if (*field) {
      ASSERT_EQ(envelope.error().facts().size(), 1u) << text;
      EXPECT_EQ(std::get<std::string>(envelope.error().facts()[0].value), field) << text;
    }
  }
}

TEST(Messages, LandInTheInboxAndRingOnceTheyAreThere) {
  TestDesk desk;
  const WorkspaceId from = desk.make_workspace();
  const WorkspaceId to = desk.make_workspace();
  const auto envelope = normalise(kGood[0].sent);
  const Principal agent{Principal::Role::workspace, from, {}, false};
  const auto sent = desk.messages.send(agent, to, *envelope, "00-trace").take();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(desk.bell.rung(), std::vector<std::string>{topic_of(to)});
  const auto rows = desk.log_of(to);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].activity_type, "a2a_receive");
  EXPECT_EQ(rows[0].method, "message/send");
  EXPECT_EQ(rows[0].source_id, from);
  EXPECT_EQ(rows[0].target_id, to);
  EXPECT_EQ(rows[0].request_body, kGood[0].stored);
  EXPECT_EQ(rows[0].summary, "hi");
  EXPECT_EQ(rows[0].seq, sent->seq);
}

TEST(Messages, OfPeopleHaveNoSource) {
  TestDesk desk;
  const WorkspaceId to = desk.make_workspace();
  for (const auto role : {Principal::Role::admin, Principal::Role::sender}) {
    EXPECT_TRUE(desk.messages.send({role, to, {}, false}, to, *normalise(kGood[0].sent), "").take());
  }
  for (const Activity& row : desk.log_of(to)) EXPECT_FALSE(row.source_id);
}

TEST(Messages, ALongTextIsCutInTheSummaryWithoutBreakingACharacter) {
  TestDesk desk;
  const WorkspaceId to = desk.make_workspace();
  std::string text;
  for (int i = 0; i < 150; ++i) text += "é";
  const auto envelope = normalise(R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"x)" +
                                  text + R"("}]}}})");
  EXPECT_TRUE(desk.messages.send({Principal::Role::admin, {}, {}, false}, to, *envelope, "").take());
  EXPECT_EQ(desk.log_of(to).at(0).summary, "x" + text.substr(0, 198));
}

TEST(Messages, ToNobodyAreAnErrorAndLeaveNothing) {
  TestDesk desk;
  const WorkspaceId nobody = WorkspaceId::make(kStart);
  const auto sent = desk.messages.send({Principal::Role::admin, {}, {}, false}, nobody, *normalise(kGood[0].sent), "");
  auto answer = Commit<Result<Appended>>(sent).take();
  ASSERT_FALSE(answer.has_value());
  EXPECT_TRUE(answer.error().is(errors::workspace_not_found));
}

TEST(Messages, NotifyHasPartsOnlyWhenThereAreAttachments) {
  TestDesk desk;
  const WorkspaceId id = desk.make_workspace();
  EXPECT_TRUE(desk.messages.notify(id, "done", {}).take());
  const Json part = Json::object({{"kind", Json::string("file")}});
  EXPECT_TRUE(desk.messages.notify(id, "with a file", {part}).take());
  const auto rows = desk.log_of(id);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].response_body, R"({"result":"done"})");
  EXPECT_EQ(rows[1].response_body, R"({"result":"with a file","parts":[{"kind":"file"}]})");
  EXPECT_EQ(rows[0].method, "notify");
  EXPECT_FALSE(rows[0].source_id);
  EXPECT_EQ(rows[0].request_body, "");
}

}  // namespace
}  // namespace restante::desk
