// Form builds one multipart/form-data body from local files. It reads them piece by piece, so memory does not grow with
// them, and starts again from the beginning after a cut connection. Belongs to one thread. Throws UnreadableFile with
// the name of the file that cannot be read, or whose size changed while it was sent.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/json.h"

namespace restante::client {

// what() is "<path>: <why>".
class UnreadableFile final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FormFile {
  std::string path;
  std::string name;  // last component of the path
  std::string type;  // guessed from the name's ending
  std::uint64_t size = 0;
};

// Describes a file without reading it. Refuses directories, devices and empty files, because no server would accept
// them.
FormFile describe_file(const std::string& path);
// application/octet-stream for endings we do not know.
std::string media_type_of(std::string_view name);

// What a server takes; 0 is no limit.
struct UploadLimits {
  std::uint64_t per_file = 0;
  std::uint64_t per_request = 0;
  std::uint64_t files = 1;  // in one request
};
// Reads the answer to GET /uploads/limits.
UploadLimits read_limits(const Json& answer);
// The files in batches, each of which is one request.
std::vector<std::vector<FormFile>> divide(std::vector<FormFile> files, const UploadLimits& limits);

class Form {
 public:
  explicit Form(std::vector<FormFile> files);

  const std::string& content_type() const { return content_type_; }
  std::uint64_t length() const { return length_; }
  void rewind();
  // The next bytes; 0 at the end.
  std::size_t read(std::span<char> into);

 private:
  std::size_t read_file(std::span<char> into);
  void open(const FormFile& file);

  std::vector<FormFile> files_;
  std::string content_type_;
  std::vector<std::string> heads_;  // before each file, and the end after the last
  std::uint64_t length_ = 0;
  std::size_t at_ = 0;           // which head or file is next
  std::size_t head_offset_ = 0;  // in heads_[at_]
  std::uint64_t left_ = 0;       // of the open file
  Fd file_;
};

}  // namespace restante::client
