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

TEST(FilePart, AStagedFileKeepsItsMembersAndNoOthers) {
  const auto staged = parse_json(R"({"sha256":"x","size":3,"name":"a","uri":"x:1","mimeType":""})").value();
  EXPECT_EQ(written(staged), R"({"uri":"x:1","name":"a","mimeType":"","size":3})");
  EXPECT_EQ(written(parse_json(R"({"uri":"x:1","name":"a","size":null})").value()), R"({"uri":"x:1","name":"a"})");
}

}  // namespace
}  // namespace restante
