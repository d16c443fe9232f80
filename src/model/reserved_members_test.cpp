#include "model/reserved_members.h"

#include <gtest/gtest.h>

#include "model/inbox_messages.h"

namespace restante {
namespace {

using Names = std::vector<std::string>;

// What is left of the text, and the names that were removed.
std::pair<std::string, Names> without(std::string_view text) {
  Json call = parse_json(text).value();
  Names removed = remove_reserved_members(call);
  return {call.dump(), std::move(removed)};
}

TEST(ReservedMembers, AreAllThatTheServerWritesIntoTheMetadataOfATask) {
  Delegation task;
  task.id = "d1";
  task.retry_of = "d0";
  task.parent_id = "p";
  const auto call = parse_json(task_message(task, "do it", "", "").request_body);
  const Json* metadata = call->find("params")->find("message")->find("metadata");
  ASSERT_TRUE(metadata && metadata->if_object());
  EXPECT_EQ(metadata->if_object()->size(), 5u);
  for (const auto& [name, value] : *metadata->if_object()) EXPECT_TRUE(is_reserved_member(name)) << name;
}

TEST(ReservedMembers, AreRemovedWhereverAReaderMayLookForThem) {
  const auto [left, removed] = without(
      R"({"method":"message/send","delegation_id":"d","metadata":{"delegation_id":"d"},"params":{"metadata":{"depth":1,)"
      R"("mine":1},"parent_delegation_id":"p","message":{"delegation_id":"d","metadata":{"delegation_id":"d","deadline":)"
      R"("x","restante_hops":2},"parts":[{"kind":"text","text":"hi","metadata":{"retry_of":"d"}}],)"
      R"("content":[{"delegation_id":"d","text":"hi"}]}}})");
  EXPECT_EQ(left,
            R"({"method":"message/send","metadata":{},"params":{"metadata":{"mine":1},"message":{"metadata":)"
            R"({"restante_hops":2},"parts":[{"kind":"text","text":"hi","metadata":{}}],"content":[{"text":"hi"}]}}})");
  EXPECT_EQ(removed, (Names{"delegation_id", "metadata.deadline", "metadata.delegation_id", "metadata.depth",
                            "metadata.retry_of", "parent_delegation_id"}));
}

TEST(ReservedMembers, InTheContentOfAMessageAreContent) {
  for (const char* text : {R"({"params":{"message":{"parts":[{"kind":"data","data":{"delegation_id":"d"}}]}}})", "7",
                           "[]", "null", R"({"params":7})", R"({"params":{"message":[],"metadata":"delegation_id"}})",
                           R"({"params":{"message":{"metadata":[{"delegation_id":"d"}],"parts":"delegation_id"}}})"}) {
    const auto [left, removed] = without(text);
    EXPECT_EQ(left, text);
    EXPECT_TRUE(removed.empty()) << text;
  }
}

TEST(ReservedMembers, RowsAboutFilesAndResultsAreTheServers) {
  for (const char* method : {"delegate_result", "chat_upload_receive", "chat_upload_acked", "chat_upload_push"}) {
    EXPECT_TRUE(is_reserved_method(method)) << method;
  }
  for (const char* method : {"", "message/send", "notify", "tasks/get"}) EXPECT_FALSE(is_reserved_method(method));
}

}  // namespace
}  // namespace restante
