#include "client/form.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"

namespace restante::client {
namespace {

constexpr auto kTypes = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"bin", "application/octet-stream"},
    {"csv", "text/csv"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"html", "text/html"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"json", "application/json"},
    {"md", "text/markdown"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"txt", "text/plain"},
    {"wav", "audio/wav"},
    {"webp", "image/webp"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"zip", "application/zip"},
});

constexpr std::uint64_t kPartOverhead = 1024;  // upper bound for the head of a multipart part

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw UnreadableFile(fmt::format("{}: {}", path, why));
}

// As browsers write it: these three are escaped, a backslash is not.
std::string in_form(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '"') {
      out += "%22";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string media_type_of(std::string_view name) {
  const auto dot = name.rfind('.');
  const std::string ending = dot == std::string_view::npos ? std::string() : lower_case(name.substr(dot + 1));
  for (const auto& [known, type] : kTypes) {
    if (known == ending) return std::string(type);
  }
  return "application/octet-stream";
}

FormFile describe_file(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) refuse(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) refuse(path, "is not a file; to send a directory, pack it first");
  if (facts.st_size == 0) refuse(path, "is empty, and an empty file cannot be sent");
  if (::access(path.c_str(), R_OK) != 0) refuse(path, std::strerror(errno));
  const auto slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string type = media_type_of(name);
  return {path, std::move(name), std::move(type), static_cast<std::uint64_t>(facts.st_size)};
}

UploadLimits read_limits(const Json& answer) {
  const auto limit = [&](std::string_view name, std::int64_t least) {
    return static_cast<std::uint64_t>(std::max(answer.whole(name), least));
  };
  return {limit("per_file_bytes", 0), limit("per_request_bytes", 0), limit("max_files", 1)};
}

std::vector<std::vector<FormFile>> divide(std::vector<FormFile> files, const UploadLimits& limits) {
  std::vector<std::vector<FormFile>> batches;
  std::uint64_t size = 0;
  for (FormFile& file : files) {
    const auto cost = file.size + kPartOverhead;
    if (batches.empty() || batches.back().size() >= limits.files ||
        (limits.per_request > 0 && size + cost > limits.per_request)) {
      batches.emplace_back();
      size = kPartOverhead;
    }
    size += cost;
    batches.back().push_back(std::move(file));
  }
  return batches;
}

Form::Form(std::vector<FormFile> files) : files_(std::move(files)) {
  const std::string boundary = "restante-" + Uuid::make(SystemClock().now()).text();
  content_type_ = "multipart/form-data; boundary=" + boundary;
  for (const FormFile& file : files_) {
    heads_.push_back(fmt::format(
        "{}--{}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
        heads_.empty() ? "" : "\r\n", boundary, in_form(file.name), file.type));
    length_ += heads_.back().size() + file.size;
  }
  heads_.push_back(fmt::format("\r\n--{}--\r\n", boundary));
  length_ += heads_.back().size();
}

void Form::rewind() {
  file_.close();
  at_ = 0;
  head_offset_ = 0;
  left_ = 0;
}

void Form::open(const FormFile& file) {
  file_ = Fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) refuse(file.path, std::strerror(errno));
  left_ = file.size;
}

std::size_t Form::read_file(std::span<char> into) {
  const FormFile& file = files_[at_ - 1];
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
  ssize_t got = 0;
  do {
    got = ::read(file_.get(), into.data(), wanted);
  } while (got < 0 && errno == EINTR);
  if (got < 0) refuse(file.path, std::strerror(errno));
  if (got == 0) refuse(file.path, "became shorter while it was being sent; nothing was sent");
  left_ -= static_cast<std::uint64_t>(got);
  if (left_ == 0) file_.close();
  return static_cast<std::size_t>(got);
}

std::size_t Form::read(std::span<char> into) {
  if (file_) return read_file(into);
  if (at_ == heads_.size()) return 0;
  const std::string_view rest = std::string_view(heads_[at_]).substr(head_offset_);
  const std::size_t taken = std::min(rest.size(), into.size());
  std::copy_n(rest.begin(), taken, into.begin());
  head_offset_ += taken;
  if (taken == rest.size()) {
    head_offset_ = 0;
    if (at_ < files_.size()) open(files_[at_]);
    ++at_;
  }
  return taken;
}

}  // namespace restante::client
