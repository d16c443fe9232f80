#include "mcp/session.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

#include "base/test_folder.h"

namespace restante::mcp {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// A session with an agent that is never run: tools that need the server fail.
class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    options_.program_version = "1";
    options_.most_calls = 2;
    options_.end_patience = 10ms;
  }
  ~SessionTest() override {
    session_.reset();
    for (const int end : pipe_) close(end);
  }
  int writing_end() {
    EXPECT_EQ(pipe(pipe_), 0);
    return pipe_[1];
  }
  static agent::Settings settings() {
    agent::Settings settings;
    settings.server = client::parse_url("http://127.0.0.1:9").value();
    return settings;
  }
  Session& session() {
    if (!session_) session_ = std::make_unique<Session>(options_, context_, output_, stop_);
    return *session_;
  }
  Session& initialized(const std::string& version = "2025-11-25") {
    session().take(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version + "\"}}");
    EXPECT_THAT(next(), HasSubstr("\"protocolVersion\":\"" + version + "\""));
    return session();
  }
  // The next line that was written; blocks until there is one.
  std::string next() {
    while (unread_.find('\n') == std::string::npos) {
      char some[4096];
      const auto got = read(pipe_[0], some, sizeof some);
      if (got <= 0) return {};
      unread_.append(some, static_cast<std::size_t>(got));
    }
    const auto line = unread_.substr(0, unread_.find('\n'));
    unread_.erase(0, line.size() + 1);
    return line;
  }
  static std::string wait_call(const std::string& id, int seconds = 600) {
    return R"({"jsonrpc":"2.0","id":)" + id +
           R"(,"method":"tools/call","params":{"name":"wait_for_message","arguments":{"timeout_seconds":)" +
           std::to_string(seconds) + "}}}";
  }

  TestFolder folder_;
  agent::Stop stop_, agent_stop_;
  DeliveryQueue delivery_queue_{agent_stop_};
  LastMessage last_message_;
  agent::Agent agent_{settings(),  agent::StateDirectory::open(folder_.path()).value(),
                      {},          delivery_queue_,
                      agent_stop_, [](std::string_view) {}};
  ToolContext context_{agent_, delivery_queue_, last_message_, {}};
  int pipe_[2] = {-1, -1};
  Output output_{writing_end(), stop_};
  SessionOptions options_;
  std::string unread_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ADeliveryIsHandedOverWhenItsAnswerIsWritten) {
  auto& one = initialized();
  one.take(wait_call("1"));
  ASSERT_TRUE(delivery_queue_.wait_for_receiver());
  agent::Delivery delivery;
  delivery.type = "message";
  delivery.id = "m1";
  delivery.text = "hello";
  EXPECT_EQ(delivery_queue_.deliver(delivery).what, agent::HandoverResult::What::handled);
  EXPECT_THAT(next(), HasSubstr("A message from the person (id m1, ):\\nhello"));
}

TEST_F(SessionTest, ACancelledCallIsNotAnsweredAndLeavesTheDelivery) {
  auto& one = initialized();
  one.take(wait_call("\"a\""));
  ASSERT_TRUE(delivery_queue_.wait_for_receiver());
  one.take(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}})");
  one.take(wait_call("2", 0));
  EXPECT_THAT(next(), HasSubstr("\"id\":2"));
}

TEST_F(SessionTest, AnIdThatIsInUseAndTooManyCallsAreRefused) {
  auto& one = initialized();
  one.take(wait_call("1"));
  one.take(wait_call("1"));
  EXPECT_THAT(next(), HasSubstr("a request with this id is already running"));
  one.take(wait_call("2"));
  one.take(wait_call("3"));
  EXPECT_THAT(next(), HasSubstr("-32000"));
  one.take(R"({"jsonrpc":"2.0","id":4,"method":"ping"})");
  EXPECT_THAT(next(), HasSubstr(R"({"jsonrpc":"2.0","id":4,"result":{}})"));
}

TEST_F(SessionTest, ABatchIsOneLine) {
  auto& one = initialized("2025-03-26");
  one.take("[" + wait_call("1", 0) + R"(,{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"x"}])");
  const auto json = parse_json(next());
  ASSERT_TRUE(json && json->if_array());
  EXPECT_EQ(json->if_array()->size(), 2u);
}

TEST_F(SessionTest, ABatchIsRefusedInAVersionWithoutBatches) {
  auto& one = initialized();
  one.take(
      R"([{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":"b","method":"x"}])");
  EXPECT_THAT(next(), AllOf(HasSubstr("-32600"), HasSubstr(R"("id":2,)")));
  EXPECT_THAT(next(), AllOf(HasSubstr("-32600"), HasSubstr(R"("id":"b",)")));
  one.take("[7]");
  EXPECT_THAT(next(), AllOf(HasSubstr("-32600"), HasSubstr(R"("id":null,)")));
}

TEST_F(SessionTest, EveryCallThatCannotBeReadEndsWithAnError) {
  options_.longest_line = 500;
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  auto& one = initialized("2025-03-26");
  // As the official client writes it: the id is last.
  const auto call = [](const std::string& id, const std::string& text) {
    return R"({"method":"tools/call","params":{"name":"send_message_to_user","arguments":{"message":")" + text +
           R"("}},"jsonrpc":"2.0","id":)" + id + "}";
  };
  const auto text = call("1", R"(\u0000)") + "\n" + call("2", std::string(1'000, 'x')) + "\n" + "[" +
                    call("3", R"(\ud800)") + "," + call("4", "y") + "]\n";
  ASSERT_EQ(write(input[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(input[1]);
  one.run(input[0]);
  close(input[0]);
  EXPECT_THAT(next(), AllOf(HasSubstr(R"("id":1,)"), HasSubstr("NUL")));
  EXPECT_THAT(next(), AllOf(HasSubstr(R"("id":2,)"), HasSubstr("at most 500 bytes")));
  EXPECT_THAT(next(), AllOf(HasSubstr(R"("id":3,)"), HasSubstr(R"("id":4,)"), HasSubstr("not valid JSON")));
}

TEST_F(SessionTest, TheEndOfTheInputEndsEveryWait) {
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  const auto text = wait_call("1") + "\n";
  auto& one = initialized();
  ASSERT_EQ(write(input[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(input[1]);
  one.run(input[0]);
  close(input[0]);
  EXPECT_TRUE(delivery_queue_.closed());
}

TEST_F(SessionTest, AReaderThatDoesNotReadDoesNotDelayTheStop) {
  auto& one = initialized();
  std::thread client([&] {
    for (int i = 0; i < 100; ++i) one.take(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  });
  stop_.request();
  client.join();
  EXPECT_TRUE(output_.closed() || stop_.requested());
}

}  // namespace
}  // namespace restante::mcp
