#include "desk/inbox/messages.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "desk/test_desk.h"
#include "desk/workspaces/workspaces.h"
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

TEST(NormaliseMessage, RefusesARequestThatIsNoMessage) {
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
      {R"({"method":"message/send","params":{"message":{"parts":[{"kind":7,"text":"x"}]}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"parts":[{"type":[],"text":"x"}]}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":7}]}}})", "parts"},
      {R"({"method":"message/send","params":{"message":{"parts":null,"content":null}}})", "parts"},
      {R"({"jsonrpc":2,"method":"message/send","params":{"message":{"parts":[{"text":"x"}]}}})", "jsonrpc"},
      {R"({"id":{},"method":"message/send","params":{"message":{"parts":[{"text":"x"}]}}})", "id"},
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

const Principal kAdmin{Principal::Role::admin, {}, {}, false};

TEST(NormaliseMessage, TakesContentWhereThereAreNoParts) {
  for (const char* parts : {R"("parts":null,)", R"("parts":[],)"}) {
    const auto envelope =
        normalise(std::string(R"({"method":"message/send","params":{"message":{)") + parts + R"("content":"hi"}}})");
    ASSERT_TRUE(envelope.has_value()) << parts;
    EXPECT_EQ(envelope->json.find("params")->find("message")->find("parts")->dump(),
              R"([{"kind":"text","text":"hi"}])");
  }
}

TEST(Messages, AreAppendedToTheInboxAndRingOnceTheyAreDurable) {
  TestDesk desk;
  const WorkspaceId from = desk.make_workspace();
  const WorkspaceId to = desk.make_workspace();
  const Principal agent{Principal::Role::workspace, from, {}, false};
  const auto sent = desk.messages.post(to, message_row(agent, to, *normalise(kGood[0].sent), "00-trace")).take();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(desk.bell.rung(), std::vector<std::string>{topic_of(to)});
  const auto rows = desk.inbox_of(to);
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
  const WorkspaceId to = WorkspaceId::make(kStart);
  for (const auto role : {Principal::Role::admin, Principal::Role::sender}) {
    const Principal person{role, to, TokenId::make(kStart), false};
    EXPECT_FALSE(message_row(person, to, *normalise(kGood[0].sent), "").source_id);
  }
}

TEST(Messages, ALongTextIsCutInTheSummaryWithoutBreakingACharacter) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += "é";
  const auto envelope = normalise(R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"x)" +
                                  text + R"("}]}}})");
  EXPECT_EQ(message_row(kAdmin, WorkspaceId::make(kStart), *envelope, "").summary, "x" + text.substr(0, 198));
}

TEST(Messages, NotifyHasPartsOnlyWhenThereAreAttachments) {
  const WorkspaceId id = WorkspaceId::make(kStart);
  const NewInboxRow plain = notify_row(id, "done", {});
  EXPECT_EQ(plain.response_body, R"({"result":"done"})");
  EXPECT_EQ(plain.method, "notify");
  EXPECT_FALSE(plain.source_id);
  EXPECT_EQ(plain.request_body, "");
  const Json part = Json::object({{"kind", Json::string("file")}});
  EXPECT_EQ(notify_row(id, "with a file", {part}).response_body,
            R"({"result":"with a file","parts":[{"kind":"file"}]})");
}

// Messages with a log that the test can read, on a desk's store and event bus.
class LoggedMessages {
 public:
  explicit LoggedMessages(TestDesk& desk) : desk_(desk) {}
  ~LoggedMessages() { ::close(fd_); }
  LoggedMessages(const LoggedMessages&) = delete;
  LoggedMessages& operator=(const LoggedMessages&) = delete;

  // The log events that `act` caused.
  template <class Act>
  std::vector<std::string> events_of(Act act) {
    {
      Log log(fd_, LogLevel::debug, desk_.clock);
      Messages messages(*desk_.store, desk_.event_bus, desk_.clock, log);
      act(messages);
    }
    std::ifstream file(path_);
    std::vector<std::string> events;
    for (std::string line; std::getline(file, line);) {
      const auto json = parse_json(line);
      EXPECT_TRUE(json.has_value()) << line;
      if (json) events.push_back(*json->find("event")->if_string());
    }
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(seen_));
    seen_ += events.size();
    return events;
  }

 private:
  TestDesk& desk_;
  const std::string path_ = (desk_.folder.path() / "log").string();
  const int fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::size_t seen_ = 0;
};

using Events = std::vector<std::string>;

TEST(Messages, AreLoggedOnceTheyAreDurableAndARepeatedOneIsNotLogged) {
  TestDesk desk;
  LoggedMessages logged(desk);
  const WorkspaceId to = desk.make_workspace();
  const NewInboxRow row = message_row(kAdmin, to, *normalise(kGood[0].sent), "");
  const EventBus::EventSubscription watch(desk.event_bus);
  const auto post = [&](Messages& messages) { ASSERT_TRUE(messages.post(to, row).take()); };
  EXPECT_EQ(logged.events_of(post), Events{"message_queued"});
  const auto after_first = desk.event_bus.last();
  EXPECT_EQ(after_first, 1u);
  EXPECT_EQ(logged.events_of(post), Events{}) << "the same message, again";
  EXPECT_EQ(desk.event_bus.last(), after_first);
  EXPECT_EQ(desk.inbox_of(to).size(), 1u);
}

TEST(Messages, ThatAreNotAppendedAreNeitherLoggedNorPublished) {
  TestDesk desk;
  LoggedMessages logged(desk);
  const EventBus::EventSubscription watch(desk.event_bus);
  const WorkspaceId missing = WorkspaceId::make(kStart);
  const auto events = logged.events_of([&](Messages& messages) {
    const auto sent = messages.post(missing, message_row(kAdmin, missing, *normalise(kGood[0].sent), "")).take();
    ASSERT_FALSE(sent.has_value());
    EXPECT_TRUE(sent.error().is(errors::workspace_not_found));
  });
  EXPECT_EQ(events, Events{});
  EXPECT_EQ(desk.event_bus.last(), 0u);
}

TEST(Messages, UnderAClaimArePublishedOnce) {
  TestDesk desk;
  LoggedMessages logged(desk);
  const WorkspaceId to = desk.make_workspace();
  const EventBus::EventSubscription watch(desk.event_bus);
  const Claim claim{sha256("key"), sha256("request"), kStart + std::chrono::hours(24)};
  const auto events = logged.events_of([&](Messages& messages) {
    const auto post = [&] {
      const ClaimedAnswer<Appended> once{claim, [](const Appended&) { return "kept"; }};
      return messages.post(to, notify_row(to, "hi", {}), once).take();
    };
    EXPECT_TRUE(post());
    const auto again = post();
    ASSERT_FALSE(again);
    EXPECT_EQ(*earlier_answer(again.error()), "kept");
  });
  EXPECT_EQ(events, Events{"message_to_people"});
  EXPECT_EQ(desk.event_bus.last(), 1u);
  EXPECT_EQ(desk.inbox_of(to).size(), 1u);
}

TEST(Messages, ARepeatedIdIsTheSameMessageOnlyWithTheSameContentByTheSameSender) {
  TestDesk desk;
  const WorkspaceId to = desk.make_workspace();
  const auto text = [](std::string_view id, std::string_view call, std::string_view content) {
    return normalise(R"({"jsonrpc":"2.0","id":")" + std::string(call) +
                     R"(","method":"message/send","params":{"message":{"messageId":")" + std::string(id) +
                     R"(","parts":[{"kind":"text","text":")" + std::string(content) + R"("}]}}})");
  };
  const auto seq = [&](const Principal& who, const Result<Envelope>& envelope) {
    return desk.messages.post(to, message_row(who, to, *envelope, "")).take()->seq;
  };
  const Principal agent{Principal::Role::workspace, desk.make_workspace(), {}, false};
  const Principal person{Principal::Role::sender, to, TokenId::make(kStart), false};
  const Principal another{Principal::Role::sender, to, TokenId::make(kStart), false};
  Principal her_page{Principal::Role::sender, to, TokenId::make(kStart), true};
  her_page.opened_by = person.token_id;

  EXPECT_EQ(seq(agent, text("m", "1", "a")), 1);
  EXPECT_EQ(seq(agent, text("m", "1", "a")), 1);
  EXPECT_EQ(seq(agent, text("m", "2", "a")), 1) << "the JSON-RPC id is no part of the message";
  EXPECT_EQ(seq(agent, text("m", "1", "b")), 2) << "other content";
  EXPECT_EQ(seq(agent, text("n", "1", "a")), 3) << "another id";
  EXPECT_EQ(seq(kAdmin, text("m", "1", "a")), 4) << "another sender";
  EXPECT_EQ(seq(person, text("m", "1", "a")), 5);
  EXPECT_EQ(seq(another, text("m", "1", "a")), 6);
  EXPECT_EQ(seq(her_page, text("m", "1", "a")), 5) << "the same person";
  EXPECT_EQ(
      seq(agent,
          normalise(R"({"params":{"message":{"parts":[{"text":"a","type":"text"}],"role":"user","messageId":"m"}},)"
                    R"("method":"message/send"})")),
      1)
      << "the order of members does not matter";
}

}  // namespace
}  // namespace restante::desk
