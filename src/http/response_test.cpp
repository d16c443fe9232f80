#include "http/response.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace restante::http {
namespace {

TEST(Response, JsonIsABodyWithItsType) {
  const Response response = json(201, "{}");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(std::get<std::string>(response.content), "{}");
  EXPECT_TRUE(response.headers.empty());
}

TEST(Response, AnAnswerAfterACommitIsMadeFromItsValueOnceItIsDurable) {
  CommitPromise<int> promise;
  Response response = after(promise.commit(), [](int value) { return json(value, "x"); });
  const auto later = std::get<std::shared_ptr<Later>>(response.content);
  bool called = false;
  later->when_done([&] { called = true; });
  EXPECT_FALSE(called);
  promise.fulfil(202);
  EXPECT_TRUE(called);
  EXPECT_EQ(later->answer().status, 202);
}

TEST(Response, TheAnswerOfAFailedCommitThrows) {
  CommitPromise<int> promise;
  Response response = after(promise.commit(), [](int) { return json(200, "never"); });
  promise.fail(std::make_exception_ptr(Unavailable("failed")));
  const auto later = std::get<std::shared_ptr<Later>>(response.content);
  bool called = false;
  later->when_done([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_THROW(later->answer(), Unavailable);
}

TEST(Response, AnAnswerFromFileContentBlocksOnNothingElse) {
  const Response response = from_bytes([] { return json(200, "opened"); });
  const auto& later = *std::get<std::shared_ptr<Later>>(response.content);
  EXPECT_EQ(later.may_block, MayBlock::on_bytes);
  bool called = false;
  later.when_done([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_EQ(std::get<std::string>(later.answer().content), "opened");
}

TEST(Response, HeldPollsEventsAndForwardsAreContentOfTheResponse) {
  HeldPoll poll;
  poll.topics = {"inbox/1"};
  poll.attempt = [] { return std::optional<Response>(json(200, "[1]")); };
  poll.give_up = [] { return json(200, "[]"); };
  const Response held = held_poll(std::move(poll));
  const auto& holding = *std::get<std::shared_ptr<HeldPoll>>(held.content);
  EXPECT_EQ(holding.topics, std::vector<std::string>{"inbox/1"});
  EXPECT_EQ(std::get<std::string>(holding.attempt()->content), "[1]");
  EXPECT_EQ(std::get<std::string>(holding.give_up().content), "[]");

  Events stream;
  stream.owner = "me";
  EXPECT_EQ(std::get<std::shared_ptr<Events>>(events(std::move(stream)).content)->owner, "me");
  Forward call;
  call.url = "http://a.example/";
  EXPECT_EQ(std::get<std::shared_ptr<Forward>>(forward(std::move(call)).content)->url, "http://a.example/");
}

TEST(Response, ReasonsAreThoseOfRfc9110) {
  EXPECT_EQ(reason(200), "OK");
  EXPECT_EQ(reason(206), "Partial Content");
  EXPECT_EQ(reason(413), "Content Too Large");
  EXPECT_EQ(reason(416), "Range Not Satisfiable");
  EXPECT_EQ(reason(421), "Misdirected Request");
  EXPECT_EQ(reason(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason(507), "Insufficient Storage");
  for (const int odd : {0, -1, 99, 299, 418, 999, 100000}) EXPECT_EQ(reason(odd), "Unknown") << odd;
}

}  // namespace
}  // namespace restante::http
