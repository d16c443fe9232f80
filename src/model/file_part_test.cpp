#include "model/file_part.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

template <class File>
std::string written(const File& file) {
  JsonWriter out;
  write_file_part(out, file);
  return out.take();
}

TEST(FilePart, ReadsWhatItWrites) {
  const FilePart file = read_file_part(parse_json(written(FilePart{"x:1", "a", "text/plain", 3})).value());
  EXPECT_EQ(file.uri, "x:1");
  EXPECT_EQ(file.name, "a");
  EXPECT_EQ(file.mime_type, "text/plain");
  EXPECT_EQ(file.size, 3);
}

TEST(FilePart, AMemberOfAnotherTypeReadsAsEmpty) {
  const FilePart file = read_file_part(parse_json(R"({"uri":7,"name":null,"mimeType":[],"size":"3"})").value());
  EXPECT_EQ(file.uri + file.name + file.mime_type, "");
  EXPECT_FALSE(file.size);
  EXPECT_EQ(written(file), R"({"uri":"","name":""})");
  EXPECT_EQ(read_file_part(Json()).uri, "");
}

TEST(FilePart, TheMediaTypeIsReadInBothSpellings) {
  const auto type_in = [](std::string_view text) { return read_file_part(parse_json(text).value()).mime_type; };
  EXPECT_EQ(type_in(R"({"mime_type":"image/png"})"), "image/png");
  EXPECT_EQ(type_in(R"({"mime_type":"image/png","mimeType":"text/plain"})"), "text/plain");
  EXPECT_EQ(type_in(R"({"mime_type":"image/png","mimeType":null})"), "image/png");
}

TEST(FilePart, ItsKindFollowsItsMediaType) {
  const auto kind = [](std::string type) { return kind_of(FilePart{"x:1", "a", std::move(type), {}}); };
  EXPECT_EQ(kind("image/png"), "image");
  EXPECT_EQ(kind("Audio/ogg; codecs=opus"), "audio");
  EXPECT_EQ(kind("video/mp4"), "video");
  for (const char* other : {"", "text/plain", "application/image", "image", "images/png"})
    EXPECT_EQ(kind(other), "file");
}

TEST(FilePart, AStagedFileKeepsItsMembersAndNoOthers) {
  const auto staged = parse_json(R"({"sha256":"x","size":3,"name":"a","uri":"x:1","mimeType":""})").value();
  EXPECT_EQ(written(staged), R"({"uri":"x:1","name":"a","mimeType":"","size":3})");
  EXPECT_EQ(written(parse_json(R"({"uri":"x:1","name":"a","size":null})").value()), R"({"uri":"x:1","name":"a"})");
}

}  // namespace
}  // namespace restante
