#include "store/s3/answers.h"

#include <gtest/gtest.h>

#include "store/s3/xml.h"

namespace restante::s3 {
namespace {

TEST(Answers, AListHasKeysSizesAndWhereItContinues) {
  const auto page = read_objects(
      "<ListBucketResult xmlns='x'><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t=1</NextContinuationToken><Contents><Key>a+b%2Bc%20d</Key><Size>5</Size></Contents>"
      "<Contents><Size>0</Size><Key>%C3%A9</Key></Contents></ListBucketResult>");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a b+c d");
  EXPECT_EQ(page->objects[0].size, 5u);
  EXPECT_EQ(page->objects[1].key, "\xc3\xa9");
  EXPECT_EQ(page->next, "t=1");
}

TEST(Answers, AKeyThatIsNotEncodedIsTakenAsItIs) {
  const auto page =
      read_objects("<ListBucketResult><Contents><Key>a+b%2B</Key><Size>5</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->objects[0].key, "a+b%2B");
  EXPECT_EQ(page->next, "");
}

TEST(Answers, AnInvalidListIsRefused) {
  EXPECT_FALSE(read_objects("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"));
  EXPECT_FALSE(read_objects("<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>"));
  EXPECT_FALSE(read_objects("<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"));
  EXPECT_FALSE(
      read_objects("<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key><Size>1</Size>"
                   "</Contents></ListBucketResult>"));
  EXPECT_FALSE(read_objects("<Error><Code>x</Code></Error>"));
  EXPECT_FALSE(read_objects(""));
}

TEST(Answers, UnfinishedUploadsAreListedWithTheTimeTheyBegan) {
  const auto page = read_uploads(
      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>"
      "<NextUploadIdMarker>u</NextUploadIdMarker><Upload><Key>k</Key><UploadId>u</UploadId>"
      "<Initiated>2026-11-10T20:48:33.000Z</Initiated></Upload></ListMultipartUploadsResult>");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->uploads.size(), 1u);
  EXPECT_EQ(page->uploads[0].id, "u");
  EXPECT_EQ(page->uploads[0].begun, parse_time("2026-11-10T20:48:33Z"));
  EXPECT_EQ(page->next_key, "k");
  EXPECT_EQ(page->next_id, "u");
  for (const char* odd : {"<Upload><Key>k</Key><UploadId>u</UploadId><Initiated>today</Initiated></Upload>",
                          "<Upload><Key>k</Key><Initiated>2026-11-10T20:48:33Z</Initiated></Upload>",
                          "<Upload><UploadId>u</UploadId><Initiated>2026-11-10T20:48:33Z</Initiated></Upload>",
                          "<IsTruncated>true</IsTruncated>"}) {
    EXPECT_FALSE(read_uploads("<ListMultipartUploadsResult>" + std::string(odd) + "</ListMultipartUploadsResult>"));
  }
  EXPECT_FALSE(read_uploads("<Other/>"));
}

TEST(Answers, TheAnswersThatBeginAndCompleteAnUploadByPartsAreRead) {
  EXPECT_EQ(read_upload_id("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"),
            "u");
  EXPECT_FALSE(read_upload_id("<InitiateMultipartUploadResult/>"));
  EXPECT_FALSE(read_upload_id("<html/>"));
  EXPECT_EQ(read_completion("<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>"),
            "\"e\"");
  EXPECT_FALSE(read_completion("<Error><Code>InternalError</Code></Error>"));
}

TEST(Answers, ABatchOfDeletionsGivesItsFirstRealFailure) {
  const auto some = read_deletions(
      "<DeleteResult><Deleted><Key>x</Key></Deleted><Error><Key>a</Key><Code>NoSuchKey</Code></Error>"
      "<Error><Key>b</Key><Code>InternalError</Code><Message>m</Message></Error></DeleteResult>");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->code, "InternalError");
  EXPECT_EQ(some->message, "m");
  EXPECT_EQ(read_deletions("<DeleteResult/>")->code, "");
  EXPECT_FALSE(read_deletions("<Error><Code>x</Code></Error>"));
}

TEST(Documents, NameThePartsAndTheKeysInTheirOrder) {
  const std::vector<Part> parts = {{1, "\"a\""}, {2, "b&c"}};
  const auto completion = parse_xml(completion_document(parts));
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->children[1].text_of("PartNumber"), "2");
  EXPECT_EQ(completion->children[1].text_of("ETag"), "b&c");
  const std::vector<std::string> keys = {"a<b", "c"};
  const auto deletion = parse_xml(deletion_document(keys));
  ASSERT_TRUE(deletion);
  EXPECT_EQ(deletion->children[1].text_of("Key"), "a<b");
}

TEST(Answers, AnErrorIsReadWithItsRegionAndTime) {
  const auto error = read_error(
      "\n<Error><Code>C</Code><Message>M</Message><Region>r</Region><ServerTime>2026-11-15T00:00:00Z</ServerTime>"
      "</Error>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "C");
  EXPECT_EQ(error->message, "M");
  EXPECT_EQ(error->region, "r");
  EXPECT_EQ(error->server_time, "2026-11-15T00:00:00Z");
  EXPECT_FALSE(read_error("<html><body>502 Bad Gateway</body></html>"));
}

}  // namespace
}  // namespace restante::s3
