#include "cli/uploads/form.h"

#include "cli/terminal/failed.h"

namespace restante::cli {
namespace {

[[noreturn]] void refuse(const client::UnreadableFile& file) {
  throw CommandFailed(kExitFailed, std::string("--file ") + file.what());
}

}  // namespace

FormFile describe_file(const std::string& path) {
  try {
    return client::describe_file(path);
  } catch (const client::UnreadableFile& file) {
    refuse(file);
  }
}

std::size_t Form::read(std::span<char> into) {
  try {
    return form_.read(into);
  } catch (const client::UnreadableFile& file) {
    refuse(file);
  }
}

}  // namespace restante::cli
