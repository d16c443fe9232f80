#include "model/upload.h"

#include <gtest/gtest.h>

#include "model/upload_stats.h"

namespace restante {
namespace {

Time second(int n) { return Time(std::chrono::seconds(n)); }

TEST(Upload, EveryStateDirectionAndGroupIsReadBackFromItsNameAndNothingElseIs) {
  for (const auto state : {UploadState::staged, UploadState::fetched, UploadState::acked, UploadState::failed,
                           UploadState::expired, UploadState::recalled}) {
    EXPECT_EQ(parse_upload_state(name_of(state)), state);
  }
  for (const auto direction : {UploadDirection::in, UploadDirection::out}) {
    EXPECT_EQ(parse_upload_direction(name_of(direction)), direction);
  }
  for (const auto group : {UploadGroup::waiting, UploadGroup::never_fetched, UploadGroup::fetched, UploadGroup::failed,
                           UploadGroup::acked, UploadGroup::expired, UploadGroup::outgoing}) {
    EXPECT_EQ(parse_upload_group(name_of(group)), group);
  }
  for (const char* text : {"", "Staged", "in ", "OUT", "all", "stage"}) {
    EXPECT_FALSE(parse_upload_state(text)) << text;
    EXPECT_FALSE(parse_upload_direction(text)) << text;
    EXPECT_FALSE(parse_upload_group(text)) << text;
  }
}

TEST(Upload, AnAckWinsOverEverythingAndExpiryOverAFailure) {
  Upload upload;
  upload.expires_at = second(10);
  EXPECT_EQ(upload.state(second(9)), UploadState::staged);
  upload.fetched_at = second(1);
  EXPECT_EQ(upload.state(second(9)), UploadState::fetched);
  upload.failed_at = second(0);
  EXPECT_EQ(upload.state(second(9)), UploadState::failed);
  EXPECT_EQ(upload.state(second(10)), UploadState::expired);
  upload.acked_at = second(2);
  EXPECT_EQ(upload.state(second(9)), UploadState::acked);
  EXPECT_EQ(upload.state(second(10)), UploadState::acked);
}

TEST(Upload, DamageIsReadBackFromItsNameAndItsSentenceFitsAsAReason) {
  for (const auto damage : {UploadDamage::changed, UploadDamage::missing}) {
    EXPECT_EQ(parse_upload_damage(name_of(damage)), damage);
    EXPECT_LE(sentence_of(damage).size(), kMaxReasonBytes);
  }
  EXPECT_NE(sentence_of(UploadDamage::changed), sentence_of(UploadDamage::missing));
  EXPECT_FALSE(parse_upload_damage(""));
  EXPECT_FALSE(parse_upload_damage("Changed"));
}

TEST(Upload, TheAddressNamesWorkspaceAndFileInLowerCase) {
  const auto workspace = WorkspaceId::parse("0196F0C0-0000-7000-8000-00000000000A").value();
  const auto file = FileId::parse("0196f0c0-0000-7000-8000-00000000000b").value();
  EXPECT_EQ(pending_uri(workspace, file),
            "platform-pending:0196f0c0-0000-7000-8000-00000000000a/0196f0c0-0000-7000-8000-00000000000b");
}

}  // namespace
}  // namespace restante
