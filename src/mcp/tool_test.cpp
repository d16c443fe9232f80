#include "mcp/tool.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "mcp/render.h"

namespace restante::mcp {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json json(std::string_view text) { return parse_json(text).value(); }
const Tool& tool(std::string_view name) { return *find_tool(name); }

TEST(Tools, EveryToolHasADescriptionAndAValidOutputSchema) {
  std::set<std::string_view> names;
  for (const Tool& one : tools()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_GT(one.description.size(), 40u) << one.name;
    EXPECT_FALSE(one.title.empty());
    const auto schema = parse_json(one.output_schema);
    ASSERT_TRUE(schema.has_value()) << one.name;
    EXPECT_EQ(*schema->find("type")->if_string(), "object") << one.name;
    for (const Json& required : *schema->find("required")->if_array())
      EXPECT_TRUE(schema->find("properties")->find(*required.if_string())) << one.name;
    for (const Param& param : one.params) EXPECT_FALSE(param.description.empty()) << one.name;
  }
  EXPECT_EQ(find_tool("no_such"), nullptr);
}

TEST(Tools, ArgumentsAreCheckedAgainstTheirSchema) {
  const auto wrong = [](std::string_view name, std::string_view given) {
    return check_arguments(tool(name), json(given));
  };
  EXPECT_THAT(wrong("wait_for_message", "{}"), IsEmpty());
  EXPECT_THAT(wrong("wait_for_message", R"({"timeout_seconds":null})"), IsEmpty());
  EXPECT_THAT(wrong("wait_for_message", R"({"timeout_seconds":3601})"), HasSubstr("from 0 to 3600"));
  EXPECT_THAT(wrong("wait_for_message", R"({"timeout_seconds":1.0})"), HasSubstr("whole number"));
  EXPECT_THAT(wrong("wait_for_message", R"({"seconds":1})"), HasSubstr("takes timeout_seconds"));
  EXPECT_THAT(wrong("list_peers", R"({"x":1})"), HasSubstr("takes no arguments"));
  EXPECT_THAT(wrong("list_peers", "[]"), HasSubstr("must be an object"));
  EXPECT_THAT(wrong("delegate_task", R"({"target":"a"})"), HasSubstr("task is missing"));
  EXPECT_THAT(wrong("delegate_task", R"({"target":"","task":"x"})"), HasSubstr("target must not be empty"));
  EXPECT_THAT(wrong("delegate_task", R"({"target":"a","task":7})"), HasSubstr("task must be a string"));
  for (const char* list : {"\"a\"", "[7]", "[\"\"]"})
    EXPECT_THAT(wrong("send_message_to_user", std::string(R"({"message":"x","attachments":)") + list + "}"),
                HasSubstr("list of paths"));
  std::string many = R"({"message":"x","attachments":["a")";
  for (int i = 0; i < 64; ++i) many += R"(,"a")";
  EXPECT_THAT(wrong("send_message_to_user", many + "]}"), HasSubstr("at most 64"));
}

TEST(Tools, OtherNamesOfArgumentsThatClientsUseAreTaken) {
  const auto renamed = [](std::string_view name, std::string_view given) {
    return with_known_names(tool(name), json(given)).dump();
  };
  EXPECT_EQ(renamed("wait_for_message", R"({"timeout_secs":5})"), R"({"timeout_seconds":5})");
  EXPECT_EQ(renamed("delegate_task", R"({"workspace_id":"a","task":"t","timeout_secs":5})"),
            R"({"task":"t","timeout_seconds":5,"target":"a"})");
  EXPECT_EQ(renamed("delegate_task", R"({"target":"a","workspace_id":"b"})"), R"({"target":"a","workspace_id":"b"})")
      << "two values: refused by the check";
  EXPECT_EQ(renamed("complete_task", R"({"task_id":"d"})"), R"({"delegation_id":"d"})");
  EXPECT_EQ(renamed("list_peers", R"({"workspace_id":"b"})"), R"({"workspace_id":"b"})");
  EXPECT_THAT(check_arguments(tool("delegate_task"), json(R"({"target":"a","workspace_id":"b","task":"t"})")),
              HasSubstr("takes"));
}

TEST(Tools, ATaskIsWaitedForLessThanTheUsualLimitOfClients) {
  const Json none = json(R"({"target":"a","task":"b"})");
  EXPECT_LT(Arguments(none, tool("delegate_task").params).whole("timeout_seconds"), 60);
}

TEST(Tools, AMissingArgumentHasItsDefault) {
  const auto given = json(R"({"target":"a","task":"b","attachments":["x","y"]})");
  const Arguments arguments(given, tool("delegate_task").params);
  EXPECT_EQ(arguments.whole("timeout_seconds"), 45);
  EXPECT_EQ(arguments.text("task"), "b");
  EXPECT_EQ(arguments.text("no_such"), "");
  EXPECT_EQ(arguments.paths("attachments").size(), 2u);
}

TEST(Render, AnOlderVersionGetsOnlyText) {
  ToolResult answer;
  answer.text = "hi";
  answer.structured = R"({"a":1})";
  EXPECT_THAT(render(answer, negotiate("2025-06-18")), HasSubstr(R"("structuredContent":{"a":1},"isError":false)"));
  EXPECT_THAT(render(answer, negotiate("2024-11-05")), Not(HasSubstr("structuredContent")));
  EXPECT_THAT(render(failure("why"), negotiate("2025-11-25")),
              testing::StrEq(R"({"content":[{"type":"text","text":"why"}],"isError":true})"));
  EXPECT_THAT(list_tools(negotiate("2024-11-05")), Not(HasSubstr("annotations")));
}

// Written by hand, not computed from the effects: by these hints a client decides whether to ask its person.
TEST(Tools, TheHintsShowWhichToolOnlyReadsAndWhichReachesOthers) {
  struct Hints {
    bool reads, outside;
  };
  const std::map<std::string, Hints> expected = {{"wait_for_message", {false, false}},
                                                 {"inbox_peek", {true, false}},
                                                 {"inbox_pop", {false, false}},
                                                 {"list_files", {true, false}},
                                                 {"send_message_to_user", {false, true}},
                                                 {"delegate_task", {false, true}},
                                                 {"send_message_to_agent", {false, true}},
                                                 {"delegate_task_async", {false, true}},
                                                 {"check_task_status", {true, false}},
                                                 {"complete_task", {false, true}},
                                                 {"list_peers", {true, false}},
                                                 {"get_workspace_info", {true, false}},
                                                 {"chat_history", {true, false}}};
  const auto listed = json(list_tools(negotiate("2025-11-25")));
  std::set<std::string> seen;
  for (const Json& one : *listed.find("tools")->if_array()) {
    const std::string name = *one.find("name")->if_string();
    seen.insert(name);
    ASSERT_TRUE(expected.contains(name)) << name << " has no hints here";
    const Hints& wanted = expected.at(name);
    const Json& hints = *one.find("annotations");
    EXPECT_EQ(*hints.find("title")->if_string(), *one.find("title")->if_string()) << name;
    EXPECT_EQ(*hints.find("readOnlyHint")->if_boolean(), wanted.reads) << name;
    EXPECT_EQ(*hints.find("openWorldHint")->if_boolean(), wanted.outside) << name;
    // They have no meaning for a tool that only reads. For the others, a client must assume the worst when they are
    // missing.
    for (const char* hint : {"destructiveHint", "idempotentHint"}) {
      ASSERT_EQ(hints.find(hint) == nullptr, wanted.reads) << name << ' ' << hint;
      if (!wanted.reads) {
        EXPECT_FALSE(*hints.find(hint)->if_boolean()) << name << ' ' << hint;
      }
    }
  }
  EXPECT_EQ(seen.size(), expected.size());
}

TEST(Describe, AFileIsOneLineWithItsPathOrTheReasonWhyItHasNotLanded) {
  agent::DeliveredFile file;
  file.name = "a.pdf";
  file.size = 12;
  file.sha256 = "abc";
  file.path = "/p/a.pdf";
  file.state = "landed";
  EXPECT_EQ(describe(file), "- a.pdf, 12 bytes, sha256 abc, at /p/a.pdf");
  file.path.clear();
  file.state = "failed";
  file.reason = "disk full";
  EXPECT_EQ(describe(file), "- a.pdf, 12 bytes, sha256 abc, not here: failed (disk full)");
  file.state = "external";
  file.uri = "https://x.example/a";
  EXPECT_EQ(describe(file), "- a.pdf, 12 bytes, sha256 abc, at https://x.example/a");
}

TEST(Describe, ATaskNamesTheToolToReportItsEndAndAResultHowItEnded) {
  agent::Delivery delivery;
  delivery.type = "message";
  delivery.id = "m1";
  delivery.source_id = "w2";
  delivery.delegation_id = "d1";
  delivery.text = "do it";
  EXPECT_THAT(describe(delivery),
              AllOf(HasSubstr("Task d1 from agent w2"), HasSubstr("do it"), HasSubstr("complete_task")));
  delivery.type = "result";
  delivery.status = "error";
  delivery.again = true;
  EXPECT_THAT(describe(delivery), AllOf(HasSubstr("The result of task d1 (it failed)"), HasSubstr("once before")));
}

TEST(Describe, APartThatIsNeitherTextNorFileIsShownAsJson) {
  agent::Delivery delivery;
  delivery.type = "message";
  delivery.body =
      json(R"({"params":{"message":{"parts":[{"kind":"data","data":{"x":1}},{"kind":"text","text":"t"}]}}})");
  delivery.text = "t";
  EXPECT_THAT(describe(delivery), AllOf(HasSubstr("A message from the person"), HasSubstr("t\n{\"x\":1}")));
}

}  // namespace
}  // namespace restante::mcp
