// The files of `send`, as in client/form.h; a file that cannot be read throws a CommandFailed that names --file. One
// thread.
#pragma once
#include <string>
#include <vector>

#include "client/form.h"

namespace restante::cli {

using client::FormFile;
using client::media_type_of;

FormFile describe_file(const std::string& path);

class Form {
 public:
  explicit Form(std::vector<FormFile> files) : form_(std::move(files)) {}

  const std::string& content_type() const { return form_.content_type(); }
  std::uint64_t length() const { return form_.length(); }
  void rewind() { form_.rewind(); }
  std::size_t read(std::span<char> into);

 private:
  client::Form form_;
};

}  // namespace restante::cli
