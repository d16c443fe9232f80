#include "desk/events/events.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/json.h"
#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EventsTest : public ::testing::Test {
 protected:
  // Appends to the inbox and publishes, as the desk's classes do it.
  Appended append(NewInboxRow row) { return append_to(workspace, std::move(row)); }
  Appended append_to(WorkspaceId place, NewInboxRow row) {
    if (!row.target_id) row.target_id = place;
    const auto at = *desk.store->append_to_inbox(place, row, desk.clock.now()).take();
    desk.event_bus.appended(place, at);
    return at;
  }
  static NewInboxRow row(std::string type, std::string method = "", std::string request = "") {
    NewInboxRow made;
    made.activity_type = std::move(type);
    made.method = std::move(method);
    made.request_body = std::move(request);
    return made;
  }
  static NewInboxRow agent_message(const std::string& text) {
    NewInboxRow made = row("a2a_receive", "notify");
    made.response_body = R"({"result":")" + text + R"(","parts":[{"kind":"file","file":{"uri":"x:1","name":"n"}}]})";
    return made;
  }
  Principal principal(std::string_view secret) { return *desk.principals.by_token(secret); }
  std::shared_ptr<WorkspaceEvents> follow(const Principal& who, std::optional<std::string_view> last = {}) {
    return *events.follow(who, workspace, last);
  }
  // Everything the stream returns now, "NAME#id" each; "over" when it has ended.
  template <class Stream>
  std::vector<std::string> received(Stream& stream) {
    std::vector<std::string> all;
    for (bool more = true; more;) {
      const auto step = stream.next();
      if (!step) return {"over"};
      for (const Event& event : step->events) {
        all.push_back(event.name + (event.id ? "#" + std::to_string(*event.id) : ""));
        data.push_back(event.data);
      }
      more = step->more;
    }
    return all;
  }
  // A member of the last event's data.
  std::string fact(std::string_view name) {
    const auto json = parse_json(data.back());
    const Json* found = json.has_value() ? json->find(name) : nullptr;
    return found ? found->dump() : "none";
  }

  TestDesk desk;
  WorkspaceId workspace = desk.make_workspace();
  WorkspaceId other = desk.make_workspace();
  Events events{*desk.store, desk.event_bus, desk.principals};
  std::string agent_secret = desk.give_token(TokenKind::workspace, workspace);
  Principal agent = principal(agent_secret);
  Principal sender = principal(desk.give_token(TokenKind::sender, workspace));
  Principal admin = principal(desk.admin_secret);
  std::vector<std::string> data;
};

TEST_F(EventsTest, AStreamBeginsWithResyncAndIsLiveFromNow) {
  append(row("agent_log"));
  const auto stream = follow(agent);
  EXPECT_THAT(received(*stream), ElementsAre("RESYNC#1"));
  EXPECT_EQ(fact("seq"), "1");
  EXPECT_EQ(fact("replayed_from"), "none");
  EXPECT_THAT(received(*stream), IsEmpty());
  append(row("agent_log"));
  EXPECT_THAT(received(*stream), ElementsAre("ACTIVITY_LOGGED#2"));
  EXPECT_THAT(received(*stream), IsEmpty());
}

TEST_F(EventsTest, ALastEventIdReplaysTheInboxFromThere) {
  for (int i = 0; i < 250; ++i) append(row("agent_log"));
  const auto stream = follow(agent, "3");
  const auto all = received(*stream);
  ASSERT_EQ(all.size(), 248u);
  EXPECT_EQ(all[0], "RESYNC#3");
  for (int seq = 4; seq <= 250; ++seq)
    EXPECT_EQ(all[static_cast<std::size_t>(seq - 3)], "ACTIVITY_LOGGED#" + std::to_string(seq));
  const auto first = parse_json(data.front());
  EXPECT_EQ(first->find("replayed_from")->dump(), "3");
  EXPECT_EQ(first->find("seq")->dump(), "250");
  append(row("agent_log"));
  EXPECT_THAT(received(*stream), ElementsAre("ACTIVITY_LOGGED#251"));
  EXPECT_THAT(received(*follow(agent, "251")), ElementsAre("RESYNC#251"));
  EXPECT_EQ(fact("replayed_from"), "251");
}

TEST_F(EventsTest, AStepIsBounded) {
  for (int i = 0; i < 250; ++i) append(row("agent_log"));
  const auto stream = follow(agent, "0");
  const auto step = stream->next();
  EXPECT_EQ(step->events.size(), 101u);
  EXPECT_TRUE(step->more);
}

TEST_F(EventsTest, AnIdThatCannotBeReadBeginsAtTheHead) {
  for (int i = 0; i < 5; ++i) append(row("agent_log"));
  for (const char* id : {"6", "-1", "junk", "", " 3", "3.0", "99999999999999999999"}) {
    EXPECT_THAT(received(*follow(agent, id)), ElementsAre("RESYNC#5")) << id;
    EXPECT_EQ(fact("replayed_from"), "none") << id;
  }
  ASSERT_EQ(desk.store->prune(kStart + std::chrono::hours(1), kStart + std::chrono::hours(1), kStart, 3).take()->rows,
            3);
  EXPECT_THAT(received(*follow(agent, "2")), ElementsAre("RESYNC#5")) << "pruned";
  EXPECT_THAT(received(*follow(agent, "4")), ElementsAre("RESYNC#4", "ACTIVITY_LOGGED#5"));
}

TEST_F(EventsTest, AStreamContinuesFromAHeadThatWasPruned) {
  append(row("agent_log"));
  ASSERT_EQ(desk.store->prune(kStart + std::chrono::hours(1), kStart + std::chrono::hours(1), kStart, 9).take()->rows,
            1);
  const auto fresh = follow(agent);
  const auto replayed = follow(agent, "1");
  append(row("agent_log"));
  EXPECT_THAT(received(*fresh), ElementsAre("RESYNC#1", "ACTIVITY_LOGGED#2"));
  EXPECT_THAT(received(*replayed), ElementsAre("RESYNC#1", "ACTIVITY_LOGGED#2"));
}

TEST_F(EventsTest, ARowIsSentAsTheEventOfItsKindAndThenAsLogged) {
  const auto stream = follow(agent);
  received(*stream);
  append(agent_message("good\\nday"));
  EXPECT_THAT(received(*stream), ElementsAre("AGENT_MESSAGE", "ACTIVITY_LOGGED#1"));
  EXPECT_EQ(fact("method"), R"("notify")");
  EXPECT_EQ(fact("workspace_id"), '"' + workspace.text() + '"');
  data.pop_back();
  EXPECT_EQ(fact("message"), R"("good\nday")");
  EXPECT_EQ(fact("attachments"), R"([{"uri":"x:1","name":"n"}])");
  EXPECT_EQ(data.back().find('\n'), std::string::npos) << "one line, or the stream breaks";
  EXPECT_EQ(fact("seq"), "1");
  const std::pair<const char*, const char*> kinds[] = {{"chat_upload_acked", "UPLOAD_ACKED"},
                                                       {"chat_upload_failed", "UPLOAD_FAILED"},
                                                       {"chat_upload_expired", "UPLOAD_EXPIRED"},
                                                       {"chat_upload_recalled", "UPLOAD_RECALLED"}};
  for (const auto& [method, name] : kinds) {
    append(row("upload_receipt", method, R"({"file_id":"f","name":"a.txt","size":3,"reason":"full","other":1})"));
    EXPECT_EQ(received(*stream)[0], name);
    data.pop_back();
    EXPECT_EQ(fact("file_id"), R"("f")");
    EXPECT_EQ(fact("reason"), R"("full")");
    EXPECT_EQ(fact("other"), "none");
  }
  append(row("a2a_receive", "chat_upload_receive", R"({"file_id":"f","name":"a.txt","size":3})"));
  EXPECT_EQ(received(*stream)[0], "UPLOAD_STAGED");
}

TEST_F(EventsTest, AnEventThatIsNotARowIsSentOnceAndInOrder) {
  const auto stream = follow(agent);
  received(*stream);
  append(row("a2a_receive", "chat_upload_receive", "{}"));
  desk.event_bus.publish(workspace, "UPLOAD_FETCHED", R"({"file_id":"f"})");
  desk.event_bus.publish(other, "UPLOAD_FETCHED", "{}");
  append(row("upload_receipt", "chat_upload_acked", "{}"));
  EXPECT_THAT(received(*stream),
              ElementsAre("UPLOAD_STAGED", "ACTIVITY_LOGGED#1", "UPLOAD_FETCHED", "UPLOAD_ACKED", "ACTIVITY_LOGGED#2"));
  EXPECT_THAT(received(*stream), IsEmpty());
  EXPECT_THAT(received(*follow(agent, "1")), ElementsAre("RESYNC#1", "UPLOAD_ACKED", "ACTIVITY_LOGGED#2"));
  desk.event_bus.publish(workspace, "WORKSPACE_SILENT", R"({"for":7})");
  received(*stream);
  EXPECT_EQ(fact("workspace_id"), '"' + workspace.text() + '"');
  EXPECT_EQ(fact("for"), "7");
}

TEST_F(EventsTest, MissedEventsCauseAResync) {
  const auto stream = follow(agent);
  received(*stream);
  for (int i = 0; i < 5000; ++i) desk.event_bus.publish(other, "UPLOAD_FETCHED", "{}");
  append(row("agent_log"));
  EXPECT_THAT(received(*stream), ElementsAre("ACTIVITY_LOGGED#1", "RESYNC#1"));
  EXPECT_THAT(received(*stream), IsEmpty());
}

TEST_F(EventsTest, ASenderGetsOnlyEventsOfTheChat) {
  const auto stream = follow(sender);
  received(*stream);
  NewInboxRow from_peer = row("a2a_receive", "message/send");
  from_peer.source_id = other;
  append(from_peer);
  append(row("agent_log"));
  append(row("a2a_receive", "delegate_result"));
  desk.event_bus.publish(workspace, "DELEGATION_STATUS", "{}");
  append(row("a2a_receive", "message/send"));
  desk.event_bus.publish(workspace, "UPLOAD_FETCHED", R"({"source_id":null})");
  desk.event_bus.publish(workspace, "WORKSPACE_ONLINE", "{}");
  append(agent_message("hello"));
  EXPECT_THAT(received(*stream), ElementsAre("ACTIVITY_LOGGED#4", "UPLOAD_FETCHED", "WORKSPACE_ONLINE", "AGENT_MESSAGE",
                                             "ACTIVITY_LOGGED#5"));
  EXPECT_THAT(received(*follow(sender, "1")),
              ElementsAre("RESYNC#1", "ACTIVITY_LOGGED#4", "AGENT_MESSAGE", "ACTIVITY_LOGGED#5"));
}

TEST_F(EventsTest, ASenderGetsNoEventOfAFileFromAnotherAgent) {
  const auto stream = follow(sender);
  const auto of_agent = follow(agent);
  received(*stream);
  received(*of_agent);
  Upload upload;
  upload.workspace_id = workspace;
  upload.name = "secret.txt";
  upload.fetched_at = kStart;
  upload.source_id = other;
  desk.uploads.events().fetched(upload);
  EXPECT_THAT(received(*stream), IsEmpty());
  EXPECT_THAT(received(*of_agent), ElementsAre("UPLOAD_FETCHED"));
  EXPECT_EQ(fact("source_id"), '"' + other.text() + '"');
  upload.source_id.reset();
  desk.uploads.events().fetched(upload);
  EXPECT_THAT(received(*stream), ElementsAre("UPLOAD_FETCHED"));
  EXPECT_EQ(fact("source_id"), "null");
  desk.event_bus.publish(workspace, "UPLOAD_FETCHED", R"({"name":"secret.txt"})");
  EXPECT_THAT(received(*stream), IsEmpty()) << "it does not say from whom the file is";
}

TEST_F(EventsTest, AStreamEndsWithItsTokenAndWithItsWorkspace) {
  const auto stream = follow(agent);
  const auto by_admin = follow(admin);
  received(*stream);
  desk.revoke(agent_secret);
  EXPECT_THAT(received(*stream), ElementsAre("over"));
  EXPECT_THAT(received(*by_admin), ElementsAre("RESYNC#0"));
  ASSERT_TRUE(desk.store->remove_workspace(workspace, kStart).take());
  EXPECT_THAT(received(*by_admin), ElementsAre("over"));
  EXPECT_EQ(events.follow(admin, workspace, {}).error().code(), errors::workspace_removed.code);
  EXPECT_EQ(events.follow(admin, WorkspaceId::make(kStart), {}).error().code(), errors::workspace_not_found.code);
}

TEST_F(EventsTest, TheOperatorGetsEventsOfAllWorkspacesWithoutIds) {
  const auto stream = events.follow_all(admin);
  EXPECT_THAT(received(*stream), ElementsAre("RESYNC"));
  append(agent_message("one"));
  desk.event_bus.publish(workspace, "WORKSPACE_OFFLINE", "{}");
  append_to(other, row("agent_log"));
  EXPECT_THAT(received(*stream),
              ElementsAre("AGENT_MESSAGE", "ACTIVITY_LOGGED", "WORKSPACE_OFFLINE", "ACTIVITY_LOGGED"));
  EXPECT_EQ(fact("workspace_id"), '"' + other.text() + '"');
  EXPECT_EQ(fact("created_at"), '"' + format_time(kStart) + '"');
  EXPECT_THAT(received(*stream), IsEmpty());
  EXPECT_THAT(received(*events.follow_all(admin)), ElementsAre("RESYNC"));
}

TEST_F(EventsTest, TheOperatorGetsAResyncForMissedEventsAndTheRemainingOnes) {
  const auto stream = events.follow_all(admin);
  received(*stream);
  for (int i = 0; i < 5000; ++i) desk.event_bus.publish(other, "UPLOAD_FETCHED", "{}");
  const auto all = received(*stream);
  EXPECT_EQ(all.size(), 4097u);
  EXPECT_EQ(all[0], "RESYNC");
  EXPECT_EQ(std::ranges::count(all, "RESYNC"), 1);
  desk.principals.replace_admin(sha256("another"));
  EXPECT_THAT(received(*stream), ElementsAre("over"));
}

}  // namespace
}  // namespace restante::desk
