#include "http/media_type.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/test_rows.h"

namespace restante::http {
namespace {

TEST(MediaType, IsReadWithLowerCaseNamesAndValuesAsSent) {
  const auto media = parse_media_type(" Text/HTML ; Charset=UTF-8;\tx=\"a;b \\\"c\\\\\" ");
  ASSERT_TRUE(media);
  EXPECT_EQ(media->type, "text");
  EXPECT_EQ(media->subtype, "html");
  ASSERT_EQ(media->parameters.size(), 2u);
  EXPECT_EQ(*media->find("charset"), "UTF-8");
  EXPECT_EQ(*media->find("x"), "a;b \"c\\");
  EXPECT_EQ(media->find("y"), nullptr);
}

TEST(MediaType, AllowsEmptyParameters) {
  EXPECT_TRUE(parse_media_type("application/json;"));
  EXPECT_TRUE(parse_media_type("application/json; ; charset=utf-8"));
}

TEST(MediaType, IsRefusedWhenMalformed) {
  for (const std::string_view value : {"",
                                       "text",
                                       "text/",
                                       "/plain",
                                       "text/plain x",
                                       "text/plain; x",
                                       "text/plain; x=",
                                       "text/plain; =y",
                                       "text/plain; x =y",
                                       "text/plain; x= y",
                                       "text/plain; x=\"y",
                                       "text/plain; x=\"y\\",
                                       "text/plain; x=\"y\"z",
                                       "text/plain, text/html",
                                       "text/plain; x=y, text/html; z",
                                       "text/plain; x=\"a\rb\"",
                                       "text/plain; x=\"a\\\nb\"",
                                       "text/plain; x=\"a\x7F\"",
                                       "text/plain; \xC3\xA9=y",
                                       "te xt/plain",
                                       "text/plain; x=1; X=2"}) {
    EXPECT_FALSE(parse_media_type(value)) << value;
  }
}

TEST(MediaType, HoldsSixteenParametersAndNoMore) {
  EXPECT_TRUE(parse_media_type("a/b" + std::string(16, ';')));
  EXPECT_FALSE(parse_media_type("a/b" + std::string(17, ';')));
  EXPECT_FALSE(parse_media_type("multipart/form-data" + std::string(100'000, ';') + "boundary=b"));
  EXPECT_FALSE(parse_media_type("multipart/form-data; boundary=b" + std::string(100'000, ' ') + "x"));
}

TEST(Boundary, IsTakenFromAFormDataTypeOnly) {
  expect_rows(form_data_boundary,
              {{"multipart/form-data; boundary=----WebKitFormBoundary7G8A", "----WebKitFormBoundary7G8A"},
               {"Multipart/Form-Data;charset=utf-8;BOUNDARY=b", "b"}});
  for (const std::string_view value : {"multipart/mixed; boundary=b", "multipart/related; boundary=b",
                                       "message/rfc822; boundary=b", "form-data; boundary=b", "text/plain", ""}) {
    EXPECT_FALSE(form_data_boundary(value)) << value;
  }
}

TEST(Boundary, MustBeThereOnceAndNotEmpty) {
  for (const std::string_view value :
       {"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=a; boundary=a", "multipart/form-data; boundary=a; Boundary=b",
        "multipart/form-data; boundary*=UTF-8''b", "multipart/form-data; boundary*0=b"}) {
    EXPECT_FALSE(form_data_boundary(value)) << value;
  }
}

TEST(Boundary, MayBeQuotedAndHoldEveryCharacterOfTheStandard) {
  expect_rows(form_data_boundary, {{"multipart/form-data; boundary=\"b\"", "b"},
                                   {"multipart/form-data; boundary=\"a'()+_,-./:=? z\"", "a'()+_,-./:=? z"},
                                   {"multipart/form-data; boundary=a'()+_,-./:=?z; x=y", "a'()+_,-./:=?z"}});
}

TEST(Boundary, IsOneToSeventyCharacters) {
  const std::string prefix = "multipart/form-data; boundary=";
  EXPECT_EQ(form_data_boundary(prefix + std::string(70, 'a')), std::string(70, 'a'));
  EXPECT_FALSE(form_data_boundary(prefix + std::string(71, 'a')));
  EXPECT_FALSE(form_data_boundary(prefix + std::string(4090, 'a')));
}

TEST(Boundary, HoldsNoOtherCharacterAndDoesNotEndInASpace) {
  for (const std::string_view value : {"\"b \"", "\" \"", "\"a\rb\"", "\"a\r\nb\"", "\"a\\\rb\"", "\"a\tb\"", "\"a*b\"",
                                       "a*b", "a%b", "\"a\\\"b\"", "\"a\xC3\xA9\"", "a b", "\"a;b\"", "\"a", "a\""}) {
    EXPECT_FALSE(form_data_boundary("multipart/form-data; boundary=" + std::string(value))) << value;
  }
}

std::string filename_of(std::string_view parameters) {
  const auto disposition = parse_content_disposition("form-data; name=\"files\"; " + std::string(parameters));
  if (!disposition) return "(malformed)";
  EXPECT_EQ(disposition->name, "files");
  return disposition->filename.value_or("(none)");
}

TEST(Disposition, IsReadAsRealClientsSendIt) {
  expect_rows(filename_of,
              {{"filename=\"a%22b\\c;é漢.txt\"", "a\"b\\c;é漢.txt"},     // curl, Chromium, undici
               {"filename=\"a%22b\\\\c;é漢.txt\"", "a\"b\\c;é漢.txt"},   // requests, httpx
               {"filename=\"a\\\"b\\\\c;é漢.txt\"", "a\"b\\c;é漢.txt"},  // Go, Ruby
               {"filename=\"a%22b%5Cc%3B%C3%A9%E6%BC%A2.txt\"", "a\"b%5Cc%3B%C3%A9%E6%BC%A2.txt"},  // aiohttp
               {"filename=\"cr%0D%0Alf.txt\"", "cr\r\nlf.txt"},
               {"filename=\"\"", ""},
               {"filename=plain.txt", "plain.txt"},
               {"filename=\"\x1b[31m\xFF\"", "\x1b[31m\xFF"},
               {"x=y", "(none)"}});
}

TEST(Disposition, DecodesTheThreeBrowserEscapesOnceAndNothingElse) {
  expect_rows(filename_of, {{"filename=\"%2522%00%2F%41%0d%0a%2\"", "%2522%00%2F%41%0d%0a%2"},
                            {"filename=\"%%2222%\"", "%\"22%"},
                            {"filename=a%22b", "a%22b"}});
}

TEST(Disposition, DecodesTheFieldNameTheSameWay) {
  const auto disposition = parse_content_disposition("FORM-DATA;NAME=\"a%22\\\"");
  ASSERT_TRUE(disposition);
  EXPECT_EQ(disposition->type, "form-data");
  EXPECT_EQ(disposition->name, "a\"\\");
  EXPECT_FALSE(disposition->filename);
}

TEST(Disposition, TakesABackslashForABackslash) {
  expect_rows(filename_of, {{"filename=\"C:\\\"", "C:\\"},
                            {"filename=\"C:\\dir\\a.txt\"", "C:\\dir\\a.txt"},
                            {"filename=\"C:\\\" ", "C:\\"},
                            {"filename=\"a\\\"; x=\"b\"", "a\\"},
                            {"filename=\"a\\\"; x=b", "a\\"},
                            {"x=\"b\\\"; filename=\"a\\\"", "a\\"}});
}

TEST(Disposition, TakesABackslashAndAQuoteForAQuoteIfTextFollows) {
  expect_rows(filename_of, {{"filename=\"a\\\"b.txt\"", "a\"b.txt"},
                            {"filename=\"\\\"\\\"\"", "\"\""},
                            {"filename=\"a\\\";b.txt\"", "a\";b.txt"},
                            {"filename=\"a\\\"; x=b\"", "a\"; x=b"},
                            {"filename=\"a\\\"; x=\\\"b\\\".txt\"; y=z", "a\"; x=\"b\".txt"},
                            {"filename=\"a\\\\\"", "a\\"},
                            {"filename=\"a\\\\\\\"b\"", "a\\\"b"},
                            {"filename=\"a\\\\b\"", "a\\b"}});
}

TEST(Disposition, ReadsOneValueInOneWay) {
  for (const std::string_view parameters :
       {"filename=\"a\\\"b", "filename=\"a\\\\\"b\"", "x=\"b\\\"; filename=\"a\\\"b\""}) {
    EXPECT_EQ(filename_of(parameters), "(malformed)") << parameters;
  }
}

TEST(Disposition, PrefersAWellFormedExtendedName) {
  expect_rows(filename_of, {{"filename=\"x\"; filename*=UTF-8''%E6%BC%A2%20a.txt", "漢 a.txt"},
                            {"filename*=utf-8'en'a.txt; filename=x", "a.txt"},
                            {"filename*=\"UTF-8''a.txt\"", "a.txt"}});
}

TEST(Disposition, IgnoresAnIllFormedExtendedNameBesideAnotherNameAndIsMalformedWithoutOne) {
  for (const std::string_view extended :
       {"ISO-8859-1''a", "UTF-8'a", "UTF-8", "UTF-8''", "UTF-8''%", "UTF-8''%4", "UTF-8''%zz", "UTF-8''a'b",
        "UTF-8''%C0%AF", "UTF-8''%ED%A0%80", "UTF-8''%F4%90%80%80", "UTF-8''%E6%BC", "UTF-8''%FF", "UTF-8''a*",
        "\"UTF-8''a b\"", "UTF-8''é"}) {
    EXPECT_EQ(filename_of("filename=\"x\"; filename*=" + std::string(extended)), "x") << extended;
    EXPECT_EQ(filename_of("filename=\"\"; filename*=" + std::string(extended)), "") << extended;
    EXPECT_EQ(filename_of("filename*=" + std::string(extended)), "(malformed)") << extended;
  }
}

TEST(Disposition, IsMalformedWhenItsOnlyFileNameIsInParts) {
  for (const std::string_view parts : {"filename*0=\"a\"; filename*1=\".txt\"", "filename*0*=UTF-8''a; filename*1=b"}) {
    EXPECT_EQ(filename_of(parts), "(malformed)") << parts;
    EXPECT_EQ(filename_of("filename=\"x\"; " + std::string(parts)), "x") << parts;
  }
}

TEST(Disposition, IsMalformedWhenAParameterComesTwice) {
  for (const std::string_view parameters : {"filename=\"a\"; filename=\"a\"", "filename=\"a\"; FileName=\"b\"",
                                            "filename*=UTF-8''a; filename*=UTF-8''b", "name=\"other\""}) {
    EXPECT_EQ(filename_of(parameters), "(malformed)") << parameters;
  }
}

TEST(Disposition, IsMalformedWhenItsSyntaxIsBroken) {
  for (const std::string_view parameters :
       {"filename=\"a", "filename=\"", "filename=", "filename", "=a", "filename=\"a\"b", "filename=a b",
        "filename =\"a\"", "filename= \"a\"", "filename=\"a\r\nb\"", "filename=\"a\nb\"", "\"a\""}) {
    EXPECT_EQ(filename_of(parameters), "(malformed)") << parameters;
  }
  EXPECT_EQ(filename_of(std::string_view("filename=\"a\0b\"", 14)), "(malformed)");
  EXPECT_FALSE(parse_content_disposition(""));
  EXPECT_FALSE(parse_content_disposition("; name=a"));
  EXPECT_FALSE(parse_content_disposition("form-data name=a"));
}

}  // namespace
}  // namespace restante::http
