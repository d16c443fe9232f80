#include "base/uuid.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <unordered_set>

namespace restante {
namespace {

using namespace std::chrono_literals;
constexpr const char* kText = "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b";

TEST(Uuid, IsWrittenInLowerCaseAndReadInAnyLetterCase) {
  const auto lower = Uuid::parse(kText);
  const auto upper = Uuid::parse("0190A1B2-C3D4-7E5F-8A6B-7C8D9E0F1A2B");
  const auto mixed = Uuid::parse("0190a1B2-c3D4-7E5f-8A6b-7c8D9e0F1a2B");
  ASSERT_TRUE(lower && upper && mixed);
  EXPECT_EQ(*lower, *upper);
  EXPECT_EQ(*lower, *mixed);
  EXPECT_EQ(upper->text(), kText);
  EXPECT_EQ(upper->hex(), "0190a1b2c3d47e5f8a6b7c8d9e0f1a2b");
}

TEST(Uuid, OfAnyVersionIsRead) {
  const auto zero = Uuid::parse("00000000-0000-0000-0000-000000000000");
  ASSERT_TRUE(zero);
  EXPECT_TRUE(zero->is_zero());
  EXPECT_EQ(*zero, Uuid());
  const auto full = Uuid::parse("ffffffff-ffff-ffff-ffff-ffffffffffff");
  ASSERT_TRUE(full);
  EXPECT_FALSE(full->is_zero());
  EXPECT_EQ(full->text(), "ffffffff-ffff-ffff-ffff-ffffffffffff");
}

TEST(Uuid, InAnyOtherFormIsRefused) {
  for (const char* text : {"", "0190a1b2c3d47e5f8a6b7c8d9e0f1a2b", "{0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b}",
                           "urn:uuid:0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b", "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2",
                           "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b0", "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2g",
                           "0190a1b2_c3d4-7e5f-8a6b-7c8d9e0f1a2b", "0190a1b-2c3d4-7e5f-8a6b-7c8d9e0f1a2b",
                           "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2 ", " 190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b",
                           "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a\xC3\xA9", "0190a1b2-c3d4-7e5f-8a6b--c8d9e0f1a2b"}) {
    EXPECT_EQ(Uuid::parse(text), std::nullopt) << text;
  }
  EXPECT_EQ(Uuid::parse(std::string(1'000'000, '0')), std::nullopt);
}

TEST(Uuid, ANewOneIsVersionSevenAndCarriesItsTime) {
  const Time now = *parse_time("2026-11-15T03:28:00.123999Z");
  std::array<std::uint8_t, 16> ever{};
  for (int i = 0; i < 1000; ++i) {
    const auto bytes = Uuid::make(now).bytes();
    std::uint64_t millis = 0;
    for (std::size_t at = 0; at < 6; ++at) millis = millis << 8 | bytes[at];
    ASSERT_EQ(millis, static_cast<std::uint64_t>(now.time_since_epoch() / 1ms));
    ASSERT_EQ(bytes[6] >> 4, 7);
    ASSERT_EQ(bytes[8] >> 6, 2);
    for (std::size_t at = 0; at < 16; ++at) ever[at] |= bytes[at];
  }
  // Every other bit is random: over a thousand of them each has been set.
  EXPECT_EQ(ever[6], 0x7f);
  EXPECT_EQ(ever[7], 0xff);
  EXPECT_EQ(ever[8], 0xbf);
  for (std::size_t at = 9; at < 16; ++at) EXPECT_EQ(ever[at], 0xff);
}

TEST(Uuid, TheOrderOfUuidsIsTheOrderOfTheirTimes) {
  Time now = *parse_time("2026-11-15T03:28:00Z");
  Uuid before = Uuid::make(now);
  for (int i = 0; i < 1000; ++i) {
    now += i % 2 ? std::chrono::microseconds(1ms) : std::chrono::microseconds(70'000s);
    const Uuid next = Uuid::make(now);
    ASSERT_LT(before, next);
    ASSERT_LT(before.text(), next.text());
    before = next;
  }
}

TEST(Uuid, NewOnesOfOneMomentDiffer) {
  std::set<Uuid> seen;
  for (int i = 0; i < 10'000; ++i) seen.insert(Uuid::make(Time(1s)));
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(Uuid, ATaggedIdReadsAndHashesAsItsUuid) {
  using FileId = Id<struct FileTag>;
  const auto id = FileId::parse("0190A1B2-C3D4-7E5F-8A6B-7C8D9E0F1A2B");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->text(), kText);
  EXPECT_EQ(FileId::parse("nonsense"), std::nullopt);
  const std::unordered_set<FileId> set{*id, *FileId::parse(kText), FileId::make(Time(1s))};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace restante
