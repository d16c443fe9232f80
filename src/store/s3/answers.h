// Reads S3's answers from XML, and writes the two documents that are sent to S3. Keys in a list arrive url-encoded, so
// that every key can be represented; they are decoded here. Pure functions; nothing throws. An empty optional always
// means that the document is not the expected one, whatever the status was.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace restante::s3 {

struct ErrorAnswer {
  std::string code;
  std::string message;
  std::string region;       // the right region, if the answer has it
  std::string server_time;  // if the clocks differ too much
};

struct Object {
  std::string key;
  std::uint64_t size = 0;
};

// `next` continues after this page; empty at the end.
struct ObjectPage {
  std::vector<Object> objects;
  std::string next;
};

// An upload by parts that was neither completed nor aborted.
struct UnfinishedUpload {
  std::string key;
  std::string id;
  Time begun;
};

struct UploadPage {
  std::vector<UnfinishedUpload> uploads;
  std::string next_key;  // both empty at the end
  std::string next_id;
};

struct Part {
  int number = 0;
  std::string etag;
};

// An answer with status 200 may be an error, too.
std::optional<ErrorAnswer> read_error(std::string_view document);
std::optional<ObjectPage> read_objects(std::string_view document);
std::optional<UploadPage> read_uploads(std::string_view document);
// The id of an upload by parts that was just begun.
std::optional<std::string> read_upload_id(std::string_view document);
// The ETag of an upload by parts that was just completed.
std::optional<std::string> read_completion(std::string_view document);
// The first real failure of a batch of deletions; an empty code when all objects are deleted.
std::optional<ErrorAnswer> read_deletions(std::string_view document);

std::string completion_document(std::span<const Part> parts);
std::string deletion_document(std::span<const std::string> keys);

}  // namespace restante::s3
