#include "agent/delivery.h"

#include <gmock/gmock.h>

#include "agent/handover.h"
#include "agent/hops.h"
#include "base/crypto.h"
#include "base/test_folder.h"
#include "base/text.h"

namespace restante::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kWorkspace = "11111111-1111-7111-8111-111111111111";
const char* const kFile = "22222222-2222-7222-8222-222222222222";
const std::string kUri = std::string("platform-pending:") + kWorkspace + "/" + kFile;

FileRecord record(FileRecord::Where where, std::string trouble = "") {
  FileRecord file;
  file.announced = {FileId::parse(kFile).value(), "a.txt", 5, std::string(64, 'a')};
  file.uri = kUri;
  file.row_id = "row";
  file.where = where;
  file.trouble = std::move(trouble);
  if (where == FileRecord::Where::landed) file.path = "/w/.molecule/chat-uploads/22-a.txt";
  return file;
}

ReceivedRow message(const std::string& body) {
  ReceivedRow row;
  row.id = "m1";
  row.seq = 7;
  row.method = "message/send";
  row.request_body = parse_json(body).value();
  return row;
}

std::string with_parts(const std::string& parts) {
  return R"({"jsonrpc":"2.0","method":"message/send","params":{"message":{"messageId":"x","parts":[)" + parts + "]}}}";
}

std::string file_part() { return R"({"kind":"file","file":{"uri":")" + kUri + R"(","name":"a.txt"}})"; }

TEST(Delivery, ALandedFileIsNamedByItsPath) {
  State state;
  state.files.push_back(record(FileRecord::Where::landed));
  const auto delivery = deliver_message(message(with_parts(R"({"kind":"text","text":"look"},)" + file_part())), state);
  EXPECT_EQ(delivery.text, "look");
  ASSERT_EQ(delivery.files.size(), 1u);
  EXPECT_EQ(delivery.files[0].path, "/w/.molecule/chat-uploads/22-a.txt");
  EXPECT_EQ(delivery.files[0].uri, "workspace:/w/.molecule/chat-uploads/22-a.txt");
  EXPECT_EQ(delivery.files[0].state, "landed");
  EXPECT_THAT(delivery.body.dump(),
              HasSubstr(R"("file":{"uri":"workspace:/w/.molecule/chat-uploads/22-a.txt","name":"a.txt"})"));
}

TEST(Delivery, AFileThatHasNotLandedHasNoPathAndShowsItsState) {
  for (const auto& [where, trouble, expected] : {std::tuple(FileRecord::Where::waiting, "", "missing"),
                                                 {FileRecord::Where::waiting, "failed", "failed"},
                                                 {FileRecord::Where::gone, "expired", "expired"},
                                                 {FileRecord::Where::gone, "", "gone"}}) {
    State state;
    state.files.push_back(record(where, trouble));
    const auto delivery = deliver_message(message(with_parts(file_part())), state);
    ASSERT_EQ(delivery.files.size(), 1u);
    EXPECT_EQ(delivery.files[0].state, expected);
    EXPECT_EQ(delivery.files[0].path, "");
    EXPECT_EQ(delivery.files[0].uri, kUri);
    EXPECT_THAT(delivery.body.dump(), HasSubstr("\"state\":\"" + std::string(expected) + "\""));
  }
}

TEST(Delivery, AFileThatWasNotAnnouncedIsUnknownAndOtherSchemesAreNotChanged) {
  State state;
  const auto body = with_parts(file_part() + R"(,{"kind":"file","file":{"uri":"https://example.com/x","name":"x"}})");
  const auto delivery = deliver_message(message(body), state);
  ASSERT_EQ(delivery.files.size(), 2u);
  EXPECT_EQ(delivery.files[0].state, "unknown");
  EXPECT_EQ(delivery.files[1].state, "external");
  EXPECT_THAT(delivery.body.dump(), HasSubstr(R"({"uri":"https://example.com/x","name":"x"})"));
}

TEST(Delivery, EveryListOfPartsIsRewritten) {
  State state;
  state.files.push_back(record(FileRecord::Where::landed));
  const auto body = R"({"params":{"message":{"parts":[]},"history":[{"parts":[)" + file_part() +
                    R"(]}],"task":{"artifacts":[{"parts":[)" + file_part() + "]}]}}}";
  EXPECT_THAT(file_uris(parse_json(body).value()), ElementsAre(kUri, kUri));
  EXPECT_EQ(deliver_message(message(body), state).body.dump().find("platform-pending:"), std::string::npos);
}

TEST(Delivery, MetadataHasTheDelegationAndTheNumberOfHops) {
  const auto body = R"({"params":{"message":{"parts":[],"metadata":{"delegation_id":"d1","restante_hops":3}}}})";
  auto row = message(body);
  row.source_id = "peer";
  const auto delivery = deliver_message(row, State());
  EXPECT_EQ(delivery.delegation_id, "d1");
  EXPECT_EQ(delivery.hops, 3);
  EXPECT_THAT(delivery.json(), HasSubstr(R"("delegation_id":"d1")"));
  EXPECT_EQ(deliver_message(message(R"({"params":{"message":{"metadata":{"restante_hops":-1}}}})"), State()).hops, 0);
}

TEST(Delivery, APersonsMessageIsNeverATaskAndNeitherIsOneWithAnImpossibleId) {
  const auto named = [](const std::string& id, std::optional<std::string> source) {
    auto row = message(R"({"params":{"message":{"parts":[],"metadata":{"delegation_id":")" + id +
                       R"(","parent_delegation_id":"d0","other":1}}}})");
    row.source_id = std::move(source);
    return deliver_message(row, State());
  };
  EXPECT_TRUE(is_task(named("d1", "peer")));
  for (const auto& delivery : {named("d1", {}), named("d/1", "peer"), named(std::string(129, 'd'), "peer")}) {
    EXPECT_FALSE(is_task(delivery));
    EXPECT_EQ(delivery.delegation_id, "");
    EXPECT_EQ(message_member(delivery.body, "metadata").dump(), R"({"other":1})");
  }
}

TEST(Delivery, TheReportThatAFileDidNotArriveHasItsOwnId) {
  auto file = record(FileRecord::Where::waiting, "failed");
  file.reason = "no room";
  const auto report = deliver_file(file);
  EXPECT_EQ(report.id, "row-failed");
  EXPECT_THAT(report.json(), HasSubstr(R"("state":"failed","reason":"no room")"));
  EXPECT_THAT(readable(report), HasSubstr("a.txt (5 bytes) [failed: no room]"));
  EXPECT_EQ(deliver_file(record(FileRecord::Where::landed)).id, "row");
}

TEST(Hops, EightAnswersInARowAreEnough) {
  const std::string now = "2026-11-15T12:00:00.000000Z";
  EXPECT_EQ(next_hop({}, "a", 0, now), 1);
  EXPECT_EQ(next_hop({}, "a", 7, now), 8);
  EXPECT_EQ(next_hop({}, "a", 8, now), std::nullopt);
  EXPECT_EQ(next_hop({}, "a", 1'000'000, now), std::nullopt);
}

TEST(Hops, APeerThatSendsNoHopsIsCounted) {
  const std::string now = "2026-11-15T12:00:00.000000Z";
  std::deque<AutomaticAnswer> answered;
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(next_hop(answered, "a", 0, now), 1);
    remember(answered, {"a", now});
  }
  EXPECT_EQ(next_hop(answered, "a", 0, now), std::nullopt);
  EXPECT_EQ(next_hop(answered, "a", 0, "2026-11-15T12:59:59.000000Z"), std::nullopt);
  EXPECT_EQ(next_hop(answered, "a", 0, "when?"), std::nullopt);
  EXPECT_EQ(next_hop(answered, "b", 0, now), 1);
  EXPECT_EQ(next_hop(answered, "a", 0, "2026-11-15T13:01:00.000000Z"), 1);
  remember(answered, {"b", "2026-11-15T13:01:00.000000Z"});
  EXPECT_EQ(answered.size(), 1u) << "answers that no longer count are dropped";
}

TEST(Delivery, AStrangeBodyIsHandedOverAsItIs) {
  State state;
  for (const char* body : {"{}", "[]", "\"text\"", R"({"parts":"x"})",
                           R"({"parts":[1,null,{"file":1},{"file":{"uri":2}},{"text":{}}]})"}) {
    const auto delivery = deliver_message(message(body), state);
    EXPECT_EQ(delivery.body.dump(), body);
    EXPECT_TRUE(delivery.files.empty());
  }
}

TEST(Delivery, IsOneLineOfJsonWhateverItContains) {
  State state;
  state.files.push_back(record(FileRecord::Where::landed));
  const auto text =
      deliver_message(message(with_parts(R"({"kind":"text","text":"a\nb\u001b[31m"},)" + file_part())), state).json();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto json = parse_json(text).value();
  EXPECT_EQ(*json.find("type")->if_string(), "message");
  EXPECT_EQ(*json.find("text")->if_string(), "a\nb\x1b[31m");
  EXPECT_TRUE(json.find("source_id")->is_null());
  EXPECT_EQ(json.find("files")->if_array()->at(0).find("size")->integer(), 5);
}

TEST(Delivery, AReadableLineContainsNoControlCharacters) {
  Delivery delivery;
  delivery.type = "message";
  delivery.text = "one\ntwo\x1b]0;title\x07";
  EXPECT_EQ(readable(delivery), " message from the person: one\n    two?]0;title?");
  delivery.text = "\u009b31mred \u202etxt.exe \x9b J\u00fcrgen";
  EXPECT_EQ(readable(delivery), " message from the person: ?31mred ?txt.exe ? J\u00fcrgen");
}

TEST(Demo, AnswersEachFileWithSizeAndHashOfTheFileOnDisk) {
  const TestFolder folder;
  TestFolder::write(folder.path() / "f", "hello");
  auto landed = record(FileRecord::Where::landed);
  landed.path = (folder.path() / "f").string();
  EXPECT_EQ(demo_reply_to(deliver_file(landed).json()), "a.txt — 5 bytes — sha256 " + to_hex(sha256("hello")) + "\n");
  EXPECT_EQ(demo_reply_to(deliver_file(record(FileRecord::Where::gone, "expired")).json()),
            "a.txt — not here (expired)\n");
}

TEST(Demo, EchoesATextAndRefusesInputThatIsNoDelivery) {
  State state;
  const auto reply =
      demo_reply_to(deliver_message(message(with_parts(R"({"kind":"text","text":"hi"})")), state).json());
  EXPECT_TRUE(reply.starts_with("You said: hi\n")) << reply;
  EXPECT_EQ(demo_reply_to("{}"), "");
  EXPECT_EQ(demo_reply_to("not json"), "");
}

TEST(Handover, SizesAreReadable) {
  EXPECT_EQ(human_size(1), "1 byte");
  EXPECT_EQ(human_size(1023), "1023 bytes");
  EXPECT_EQ(human_size(1536), "1.5 KiB");
  EXPECT_EQ(human_size(26'214'400), "25.0 MiB");
}

}  // namespace
}  // namespace restante::agent
