// A small XML parser for S3's answers, and escaping for the documents that are sent. A document becomes a tree of
// elements with their text; attributes, comments and instructions are skipped, the prefix of a name is removed. Refused
// are a document type, and a document that is nested deeper or has more elements than any answer of S3. Pure functions;
// nothing throws.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace restante::s3 {

struct XmlElement {
  std::string name;
  std::string text;  // directly in this element, without that of children
  std::vector<XmlElement> children;

  // The first of that name; null when absent.
  const XmlElement* find(std::string_view child) const;
  // Its text; empty when absent.
  std::string_view text_of(std::string_view child) const;
};

// The root; none when the document is not well-formed UTF-8 XML within those limits.
std::optional<XmlElement> parse_xml(std::string_view document);

std::string escape_xml(std::string_view text);

}  // namespace restante::s3
