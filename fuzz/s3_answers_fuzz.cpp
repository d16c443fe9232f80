// Promises: whatever a server sends, the parsed trees are bounded; text can be escaped, written and read back the same;
// a page that is not the last has the position of the next; the reader can read every document that we write.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fuzz/oracle.h"
#include "store/s3/answers.h"
#include "store/s3/xml.h"

namespace {

using namespace restante;
using namespace restante::s3;

void check_element(const XmlElement& element, int depth) {
  ORACLE(depth <= 16 && is_valid_utf8(element.text) && is_valid_utf8(element.name));
  const auto again = parse_xml("<a>" + escape_xml(element.text) + "</a>");
  ORACLE(again && again->text == element.text);
  for (const auto& child : element.children) {
    ORACLE(element.find(child.name) != nullptr);
    check_element(child, depth + 1);
  }
}

void check_pages(std::string_view input) {
  if (const auto page = read_objects(input)) {
    for (const auto& object : page->objects) ORACLE(!object.key.empty());
  }
  if (const auto page = read_uploads(input)) {
    ORACLE(page->next_id.empty() || !page->next_key.empty());
    for (const auto& upload : page->uploads) ORACLE(!upload.key.empty() && !upload.id.empty());
  }
  if (const auto id = read_upload_id(input)) ORACLE(!id->empty());
  const int kinds = (read_objects(input) ? 1 : 0) + (read_uploads(input) ? 1 : 0) + (read_upload_id(input) ? 1 : 0) +
                    (read_completion(input) ? 1 : 0) + (read_deletions(input) ? 1 : 0) + (read_error(input) ? 1 : 0);
  ORACLE(kinds <= 1);
}

// Keys are made by us or come from a listing: text without control bytes.
void check_documents(std::string_view input) {
  for (const char c : input) {
    if (static_cast<unsigned char>(c) < 0x20) return;
  }
  if (!is_valid_utf8(input)) return;
  const std::string keys[] = {std::string(input), "second"};
  const auto deletion = parse_xml(deletion_document(keys));
  ORACLE(deletion && deletion->children.size() == 3 && deletion->children[1].text_of("Key") == input);
  const Part parts[] = {{1, std::string(input)}};
  const auto completion = parse_xml(completion_document(parts));
  ORACLE(completion && completion->children.size() == 1 && completion->children[0].text_of("ETag") == input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto root = parse_xml(input)) check_element(*root, 1);
  check_pages(input);
  check_documents(input);
  return 0;
}
