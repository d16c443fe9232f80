// What S3 says, read from XML, and the two documents it is sent. A page of keys comes url-encoded, so that every key
// survives; it is decoded here. Pure functions; nothing throws. "Nothing" always means: not the document that was
// expected, whatever its status was.
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
  std::string region;       // where it should have gone, if it says so
  std::string server_time;  // if it minds ours
};

struct Object {
  std::string key;
  std::uint64_t size = 0;
};

// `next` goes on where this page ends; empty at the end.
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

// Also of an answer that came with 200.
std::optional<ErrorAnswer> read_error(std::string_view document);
std::optional<ObjectPage> read_objects(std::string_view document);
std::optional<UploadPage> read_uploads(std::string_view document);
// Of an upload by parts that was just begun.
std::optional<std::string> read_upload_id(std::string_view document);
// The ETag of an upload by parts that was just completed.
std::optional<std::string> read_completion(std::string_view document);
// The first failure of a batch of deletions that means anything; an empty code when all are gone.
std::optional<ErrorAnswer> read_deletions(std::string_view document);

std::string completion_document(std::span<const Part> parts);
std::string deletion_document(std::span<const std::string> keys);

}  // namespace restante::s3
