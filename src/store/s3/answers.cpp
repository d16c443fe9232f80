#include "store/s3/answers.h"

#include <algorithm>

#include "base/text.h"
#include "store/s3/xml.h"

namespace restante::s3 {
namespace {

std::optional<XmlElement> document_called(std::string_view name, std::string_view text) {
  auto root = parse_xml(text);
  return root && root->name == name ? std::move(root) : std::nullopt;
}

ErrorAnswer error_of(const XmlElement& element) {
  return {std::string(element.text_of("Code")), std::string(element.text_of("Message")),
          std::string(element.text_of("Region")), std::string(element.text_of("ServerTime"))};
}

// Amazon writes a blank as '+', other servers as %20; all of them write a plus sign as %2B.
std::optional<std::string> decoded(const XmlElement& page, std::string_view text) {
  if (page.text_of("EncodingType") != "url") return std::string(text);
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '+', ' ');
  return percent_decode(plain);
}

bool is_truncated(const XmlElement& page) { return page.text_of("IsTruncated") == "true"; }

}  // namespace

std::optional<ErrorAnswer> read_error(std::string_view document) {
  const auto root = document_called("Error", document);
  return root ? std::optional(error_of(*root)) : std::nullopt;
}

std::optional<ObjectPage> read_objects(std::string_view document) {
  const auto root = document_called("ListBucketResult", document);
  if (!root) return std::nullopt;
  ObjectPage page;
  for (const auto& element : root->children) {
    if (element.name != "Contents") continue;
    auto key = decoded(*root, element.text_of("Key"));
    const auto size = parse_unsigned(element.text_of("Size"));
    if (!key || key->empty() || !size) return std::nullopt;
    page.objects.push_back({std::move(*key), *size});
  }
  if (is_truncated(*root)) {
    page.next = root->text_of("NextContinuationToken");
    if (page.next.empty()) return std::nullopt;  // else the caller would list the first page forever
  }
  return page;
}

std::optional<UploadPage> read_uploads(std::string_view document) {
  const auto root = document_called("ListMultipartUploadsResult", document);
  if (!root) return std::nullopt;
  UploadPage page;
  for (const auto& element : root->children) {
    if (element.name != "Upload") continue;
    auto key = decoded(*root, element.text_of("Key"));
    const auto begun = parse_time(element.text_of("Initiated"));
    const auto id = element.text_of("UploadId");
    if (!key || key->empty() || !begun || id.empty()) return std::nullopt;
    page.uploads.push_back({std::move(*key), std::string(id), *begun});
  }
  if (is_truncated(*root)) {
    auto next = decoded(*root, root->text_of("NextKeyMarker"));
    if (!next || next->empty()) return std::nullopt;
    page.next_key = std::move(*next);
    page.next_id = root->text_of("NextUploadIdMarker");
  }
  return page;
}

std::optional<std::string> read_upload_id(std::string_view document) {
  const auto root = document_called("InitiateMultipartUploadResult", document);
  if (!root || root->text_of("UploadId").empty()) return std::nullopt;
  return std::string(root->text_of("UploadId"));
}

std::optional<std::string> read_completion(std::string_view document) {
  const auto root = document_called("CompleteMultipartUploadResult", document);
  return root ? std::optional(std::string(root->text_of("ETag"))) : std::nullopt;
}

std::optional<ErrorAnswer> read_deletions(std::string_view document) {
  const auto root = document_called("DeleteResult", document);
  if (!root) return std::nullopt;
  for (const auto& element : root->children) {
    if (element.name == "Error" && element.text_of("Code") != "NoSuchKey") return error_of(element);
  }
  return ErrorAnswer{};
}

std::string completion_document(std::span<const Part> parts) {
  std::string text = "<CompleteMultipartUpload>";
  for (const auto& part : parts) {
    text += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" + escape_xml(part.etag) +
            "</ETag></Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

std::string deletion_document(std::span<const std::string> keys) {
  std::string text = "<Delete><Quiet>true</Quiet>";
  for (const auto& key : keys) text += "<Object><Key>" + escape_xml(key) + "</Key></Object>";
  return text + "</Delete>";
}

}  // namespace restante::s3
