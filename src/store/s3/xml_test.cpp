#include "store/s3/xml.h"

#include <gtest/gtest.h>

namespace restante::s3 {
namespace {

TEST(Xml, ADocumentBecomesATreeOfElementsWithTheirText) {
  const auto root = parse_xml(
      "\xef\xbb\xbf<?xml version=\"1.0\" encoding='UTF-8'?>\n<!-- hello -->\n"
      "<a:ListBucketResult xmlns:a=\"http://example.com/a>b\" other = 'x' >\n <Name>b</Name><Empty/><Empty />"
      "<Contents><Key>k1</Key></Contents><Contents ><Key>k2</Key ></Contents></a:ListBucketResult>\n");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "ListBucketResult");
  EXPECT_EQ(root->text_of("Name"), "b");
  EXPECT_EQ(root->text_of("Empty"), "");
  EXPECT_EQ(root->text_of("Absent"), "");
  EXPECT_EQ(root->find("Absent"), nullptr);
  ASSERT_EQ(root->children.size(), 5u);
  EXPECT_EQ(root->children[4].text_of("Key"), "k2");
}

TEST(Xml, EntitiesAndLiteralTextAreDecoded) {
  const auto root = parse_xml("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#xe9;&#x20ac;&#x1F600;<![CDATA[<&amp;]]>!</a>");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->text, "<&>\"'AB\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80<&amp;!");
}

class NoXml : public ::testing::TestWithParam<const char*> {};
TEST_P(NoXml, IsRefused) { EXPECT_FALSE(parse_xml(GetParam())) << GetParam(); }
INSTANTIATE_TEST_SUITE_P(Documents, NoXml,
                         ::testing::Values("", " ", "text", "<a>", "</a>", "<a></b>", "<a:x></b:x>", "<a/><b/>",
                                           "<a/>text", "text<a/>", "<a", "<a x></a>", "<a x=1/>", "<a x=\"1/>",
                                           "<a x='<'/>", "<a/ >", "<>x</>", "< a/>", "<a>&nope;</a>", "<a>&amp</a>",
                                           "<a>&#;</a>", "<a>&#x;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>",
                                           "<a>&#x110000;</a>", "<a>&#999999999999;</a>", "<a>&#x1g;</a>",
                                           "<a>&#1;</a>", "<a>\xff</a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
                                           "<a><!-- </a>", "<a><![CDATA[x</a>", "<![CDATA[x]]><a/>", "<?xml <a/>",
                                           "<a x='1'y='2'/>"));

TEST(Xml, DepthAndNumberOfElementsAreBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "<a>";
    for (int i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_TRUE(parse_xml(nested(16)));
  EXPECT_FALSE(parse_xml(nested(17)));
  const auto wide = [](int count) {
    std::string text = "<a>";
    for (int i = 1; i < count; ++i) text += "<b/>";
    return text + "</a>";
  };
  EXPECT_TRUE(parse_xml(wide(50'000)));
  EXPECT_FALSE(parse_xml(wide(50'001)));
}

TEST(Xml, WhatIsEscapedIsReadBack) {
  const std::string odd = "a<b>&\"c\"'d'\r\n\t]]>\xc3\xa9";
  const auto root = parse_xml("<a>" + escape_xml(odd) + "</a>");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->text, odd);
}

}  // namespace
}  // namespace restante::s3
