#include "desk/uploads/upload_pushes.h"

#include "desk/test_desk.h"

namespace restante::desk {
namespace {

class UploadPushesTest : public testing::Test {
 protected:
  InboxRow recorded(const UploadPush& push) {
    EXPECT_TRUE(pushes.record(push).take());
    const auto rows = desk.inbox_of(workspace);
    return rows.empty() ? InboxRow() : rows.back();
  }
  UploadPush push_of(std::string outcome, int status = 0) {
    UploadPush push;
    push.target = workspace;
    push.outcome = std::move(outcome);
    push.status = status;
    push.size = 26'214'400;
    push.took = std::chrono::milliseconds(1'234);
    return push;
  }

  TestDesk desk;
  WorkspaceId workspace = desk.make_workspace(DeliveryMode::push);
  UploadPushes pushes{*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics};
};

TEST_F(UploadPushesTest, ADeliveredUploadIsARowThatAPollingAgentDoesNotTakeForAMessage) {
  UploadPush push = push_of("delivered", 200);
  push.traceparent = "00-1-2-01";
  push.reply = R"({"files":[]})";
  const InboxRow row = recorded(push);
  EXPECT_EQ(row.activity_type, "a2a_send");
  EXPECT_EQ(row.method, "chat_upload_push");
  EXPECT_EQ(row.summary, "chat_upload_push: 26214400 bytes");
  EXPECT_EQ(row.request_body, R"({"size":26214400})");
  EXPECT_EQ(row.response_body, R"({"files":[]})");
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.error_detail, "");
  EXPECT_EQ(row.duration_ms, 1'234);
  EXPECT_FALSE(row.source_id) << "only people upload into a chat";
  EXPECT_EQ(row.target_id, workspace);
  EXPECT_EQ(row.traceparent, "00-1-2-01");
}

TEST_F(UploadPushesTest, TheRowOfAFailureHasTheReason) {
  const InboxRow refused = recorded(push_of("refused", 413));
  EXPECT_EQ(refused.status, "error");
  EXPECT_EQ(refused.error_detail, "callback answered 413");
  const InboxRow cut = recorded(push_of("cut"));
  EXPECT_EQ(cut.status, "error");
  EXPECT_EQ(cut.error_detail, "callback not done: cut");
}

TEST_F(UploadPushesTest, AReplyThatIsNoJsonIsNotKept) {
  UploadPush push = push_of("delivered", 200);
  push.reply = "<html>";
  EXPECT_EQ(recorded(push).response_body, "");
}

TEST_F(UploadPushesTest, EveryUploadIsCountedAndOnlyThoseTheCallbackGotHaveARow) {
  recorded(push_of("delivered", 200));
  pushes.record_undelivered(workspace, "unreachable");
  EXPECT_EQ(desk.inbox_of(workspace).size(), 1u);
  EXPECT_EQ(desk.metrics.upload_pushes("delivered").Value(), 1);
  EXPECT_EQ(desk.metrics.upload_pushes("unreachable").Value(), 1);
  EXPECT_EQ(desk.metrics.upload_push_bytes.Value(), 26'214'400);
}

TEST_F(UploadPushesTest, NothingRingsForAWorkspaceThatWasRemovedMeanwhile) {
  ASSERT_TRUE(desk.store->remove_workspace(workspace, desk.clock.now()).take());
  (void)desk.bell.rung(0);
  EXPECT_FALSE(pushes.record(push_of("delivered", 200)).take());
  EXPECT_TRUE(desk.bell.rung(0).empty());
  EXPECT_EQ(desk.metrics.upload_pushes("delivered").Value(), 1) << "the callback has it nevertheless";
}

TEST_F(UploadPushesTest, HeldPollsOfTheWorkspaceAreWoken) {
  (void)desk.bell.rung(0);
  recorded(push_of("delivered", 200));
  const auto rung = desk.bell.rung();
  EXPECT_EQ(std::count(rung.begin(), rung.end(), topic_of(workspace)), 1);
}

}  // namespace
}  // namespace restante::desk
