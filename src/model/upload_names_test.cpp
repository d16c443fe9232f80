#include "model/upload_names.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace restante {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string times(std::size_t count, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

void expect_names(const Pairs& pairs) {
  for (const auto& [raw, expected] : pairs) EXPECT_EQ(sanitise_filename(raw), expected) << "from " << raw;
}

void expect_types(const Pairs& pairs) {
  for (const auto& [raw, expected] : pairs) EXPECT_EQ(normalise_media_type(raw), expected) << "from " << raw;
}

TEST(Filename, FollowsEveryPairOfTheContract) {
  expect_names({{"../../etc/passwd", "passwd"},
                {"hello world.pdf", "hello_world.pdf"},
                {"weird;chars!?.txt", "weird_chars__.txt"},
                {"中文.docx", "__.docx"},
                {"file (1).pdf", "file__1_.pdf"},
                {"report-2026.05.04_v2.pdf", "report-2026.05.04_v2.pdf"},
                {times(200, "b") + ".pdf", times(96, "b") + ".pdf"},
                {times(90, "c") + ".thisisaverylongextensionnotpreserved", times(90, "c") + ".thisisave"},
                {"中文中文", "____"}});
}

TEST(Filename, IsTheLastComponentOnly) {
  expect_names({{"..\\..\\x", "x"},
                {"/abs", "abs"},
                {"C:\\x", "x"},
                {"\\\\srv\\share", "share"},
                {"a\\b/c", "c"},
                {"a/b\\c", "c"}});
}

TEST(Filename, IsFileWhenNothingUsableIsLeft) {
  expect_names({{"", "file"}, {".", "file"}, {"..", "file"}, {"dir/", "file"}, {"dir\\", "file"}, {"a/..", "file"}});
}

TEST(Filename, KeepsSpacesAndLongerDotsByTheRule) {
  expect_names({{"   ", "___"}, {"...", "..."}, {".bashrc", ".bashrc"}, {". ", "._"}});
}

TEST(Filename, ReplacesControlCharacters) {
  expect_names({{"cr\r\nlf.txt", "cr__lf.txt"},
                {"\x1b[31mred", "__31mred"},
                {"a\xC2\x9B"
                 "b",
                 "a_b"},
                {std::string("a\0b", 3), "a_b"},
                {"a\x7F", "a_"},
                {"cr%0D%0Alf", "cr_0D_0Alf"}});
}

TEST(Filename, TurnsEveryByteThatIsNotUtf8IntoOneUnderscore) {
  expect_names({{"a\xC0\xAF"
                 "b",
                 "a__b"},                      // overlong slash
                {"\xE0\x80\xAF", "___"},       // overlong, three bytes
                {"\xF0\x80\x80\xAF", "____"},  // overlong, four bytes
                {"\xED\xA0\x80", "___"},       // lone surrogate
                {"\xF4\x90\x80\x80", "____"},  // beyond U+10FFFF
                {"x\xE6\xBC", "x__"},          // cut short at the end
                {"x\xE6\xBC.txt", "x__.txt"},  // cut short before more
                {"caf\xE9.txt", "caf_.txt"},   // Latin-1
                {"a\xC3.txt", "a_.txt"},       // half of two
                {"\xF0\x9F\x98.x", "___.x"},   // three of four
                {"\xF0\x9F.x", "__.x"},        // two of four
                {"\xFF\xFE", "__"}});
}

TEST(Filename, TurnsEveryCodePointIntoOneUnderscore) {
  expect_names({{"cod\u202Efdp.exe", "cod_fdp.exe"},
                {"\u2066a\u2069", "_a_"},
                {"a\u200Bb", "a_b"},
                {"\uFEFFa", "_a"},
                {"a\u2028b", "a_b"},
                {"\U0001F600.png", "_.png"},
                {"e\u0301", "e_"}});
}

TEST(Filename, IsCutToAHundredWithItsExtensionKept) {
  expect_names({{times(100, "a"), times(100, "a")},
                {times(101, "a"), times(100, "a")},
                {times(100, "\U0001F600"), times(100, "_")},
                {times(120, "\U0001F600") + ".png", times(96, "_") + ".png"},
                {times(97, "a") + ".pdf", times(96, "a") + ".pdf"},
                {times(96, "a") + ".pdf", times(96, "a") + ".pdf"},
                {times(100, "a") + ".", times(99, "a") + "."}});
}

TEST(Filename, KeepsAnExtensionOfSixteenCharactersAndNoLonger) {
  const std::string sixteen = "." + times(15, "x");
  expect_names(
      {{times(200, "a") + sixteen, times(84, "a") + sixteen}, {times(200, "a") + sixteen + "x", times(100, "a")}});
}

TEST(Filename, KeepsShellAndMarkupAsHarmlessData) {
  expect_names({{"-rf", "-rf"},
                {"~root", "_root"},
                {"$(id)", "__id_"},
                {"a`b;c|d*", "a_b_c_d_"},
                {"<img src=x onerror=1>.png", "_img_src_x_onerror_1_.png"},
                {"{{7*7}}", "__7_7__"},
                {"javascript:alert", "javascript_alert"},
                {"a\"b", "a_b"}});
}

TEST(MediaType, IsCutAtTheParametersAndTrimmed) {
  expect_types({{"text/plain", "text/plain"},
                {"text/html; charset=utf-7", "text/html"},
                {" \timage/png\t ", "image/png"},
                {"text/plain ;x=\"\r\n\"", "text/plain"},
                {"Image/SVG+xml", "Image/SVG+xml"},
                {"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                 "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}});
}

TEST(MediaType, StaysEmptyWhenThereIsNone) { expect_types({{"", ""}, {"  ", ""}, {"; charset=utf-8", ""}}); }

TEST(MediaType, IsOctetStreamForAnythingButTypeSlashSubtype) {
  for (const std::string raw : {"text", "text/", "/plain", "/", "a/b/c", "text /plain", "text/ plain", "*/*", "image/*",
                                "text/plain\r\nX-Evil: 1", "text/pl\xC3\xA9in", "te\x01xt/plain",
                                "text/plain,text/html", "text/<b>", "text/\"plain\"", "text/plain\x7F"}) {
    EXPECT_EQ(normalise_media_type(raw), "application/octet-stream") << "from " << raw;
  }
}

TEST(MediaType, IsOctetStreamBeyond127Characters) {
  expect_types({{"a/" + times(125, "b"), "a/" + times(125, "b")},
                {"a/" + times(126, "b"), "application/octet-stream"},
                {"text/" + times(300, "x"), "application/octet-stream"},
                {std::string("text/plain\0", 11), "application/octet-stream"}});
}

}  // namespace
}  // namespace restante
