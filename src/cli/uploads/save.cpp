#include "cli/uploads/save.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "agent/files.h"
#include "base/crypto.h"
#include "base/text.h"
#include "base/uuid.h"
#include "cli/terminal/failed.h"
#include "model/file_part.h"
#include "model/upload.h"
#include "model/upload_names.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 4;  // in a row without a byte; then the file is given up
constexpr int kMostNames = 1'000;

// /workspaces/<workspace>/pending-uploads/<file>; empty for a file that this server does not keep.
std::string path_of(const std::string& uri) {
  if (!uri.starts_with(kPendingScheme)) return {};
  const auto slash = uri.rfind('/');
  const auto workspace = WorkspaceId::parse(uri.substr(kPendingScheme.size(), slash - kPendingScheme.size()));
  const auto file = slash == std::string::npos ? std::nullopt : FileId::parse(uri.substr(slash + 1));
  if (!workspace || !file) return {};
  return fmt::format("/workspaces/{}/pending-uploads/{}", workspace->text(), file->text());
}

// A file under a temporary name, which is removed unless the file was kept.
class Draft {
 public:
  Draft(int folder, std::string name) : folder_(folder), name_(std::move(name)) {
    file_ = Fd(openat(folder, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  }
  ~Draft() {
    if (!kept_) unlinkat(folder_, name_.c_str(), 0);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  bool is_open() const { return static_cast<bool>(file_); }
  std::uint64_t size() const { return size_; }
  // Empty, or why it failed.
  std::string append(std::string_view bytes) {
    if (const auto written = agent::write_all(file_.get(), bytes); written.has_error()) return written.error().sentence;
    hash_.update(bytes);
    size_ += bytes.size();
    return {};
  }
  std::string finish_hash() { return to_hex(hash_.finish()); }
  // The name that it got, or an error.
  agent::DiskResult<std::string> keep(std::string_view name) {
    if (const auto synced = agent::sync_file(file_.get()); synced.has_error()) return synced.error();
    for (int number = 1; number <= kMostNames; ++number) {
      const auto to = saved_name(name, number);
      const auto renamed = agent::rename_without_replacing(folder_, name_, to);
      if (renamed.has_error()) return renamed.error();
      if (!*renamed) continue;
      kept_ = true;
      return to;
    }
    return agent::DiskError("there are a thousand files of that name", EEXIST);
  }

 private:
  int folder_;
  std::string name_;
  Fd file_;
  Sha256 hash_;
  std::uint64_t size_ = 0;
  bool kept_ = false;
};

// Empty, or why the content could not be fetched.
std::string fetch(Remote& remote, const std::string& target, std::uint64_t size, Draft& draft) {
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const auto before = draft.size();
    std::string trouble;
    const auto answer = remote.download(target, before, [&](const client::Response& head, std::string_view bytes) {
      if (before > 0 && head.status != 206) return trouble = "the server does not resume downloads", false;
      if (draft.size() + bytes.size() > size) return trouble = "it is larger than the server says", false;
      trouble = draft.append(bytes);
      return trouble.empty();
    });
    if (!trouble.empty()) return trouble;
    if (answer.has_value()) return {};
    if (!answer.error().passes() || attempt == kAttempts) return answer.error().sentence;
    if (draft.size() > before) attempt = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  return {};
}

void save(Remote& remote, const std::string& uri, int folder, const std::string& folder_path, ReturnedFile& file) {
  const auto path = path_of(uri);
  if (path.empty()) {
    file.trouble = "this server does not keep it: " + uri;
    return;
  }
  Json facts;
  try {
    facts = parse_answer(remote.get(path));
  } catch (const CommandFailed& failed) {
    file.trouble = failed.what();
    return;
  }
  file.size = facts.whole("size");
  Draft draft(folder, ".restante-" + fresh_key());
  if (!draft.is_open()) {
    file.trouble = agent::disk_error("cannot write to " + folder_path).sentence;
    return;
  }
  file.trouble =
      fetch(remote, path + "/content", static_cast<std::uint64_t>(std::max<std::int64_t>(0, file.size)), draft);
  if (!file.trouble.empty()) return;
  const auto hash = facts.text("sha256");
  if (draft.size() != static_cast<std::uint64_t>(file.size) || (!hash.empty() && draft.finish_hash() != hash)) {
    file.trouble = "its content is not what was sent";
    return;
  }
  const auto kept = draft.keep(file.name);
  if (kept.has_error()) {
    file.trouble = kept.error().sentence;
    return;
  }
  file.path = (fs::absolute(folder_path).lexically_normal() / *kept).string();
}

}  // namespace

std::string saved_name(std::string_view name, int number) {
  std::string safe = sanitise_filename(name);
  if (safe.front() == '.') safe.front() = '_';
  if (number == 1) return safe;
  const auto dot = safe.rfind('.');
  const auto stem = dot == std::string::npos || dot == 0 ? safe.size() : dot;
  return fmt::format("{}-{}{}", safe.substr(0, stem), number, safe.substr(stem));
}

void check_save_folder(const std::string& folder) {
  if (folder.empty()) return;
  const auto opened = agent::open_root(folder);
  if (opened.has_error()) throw CommandFailed(kExitFailed, "--save: " + opened.error().sentence);
  if (faccessat(opened->get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    throw CommandFailed(kExitFailed, agent::disk_error("--save: cannot write to " + folder).sentence);
}

std::vector<ReturnedFile> take_files(Remote& remote, const Json::Array& files, const std::string& folder) {
  std::vector<ReturnedFile> returned;
  const auto opened = folder.empty() || files.empty() ? agent::DiskResult<Fd>(Fd()) : agent::open_root(folder);
  for (const Json& part : files) {
    const FilePart named = read_file_part(part);
    ReturnedFile file{named.name, named.size.value_or(0), {}, {}};
    if (opened.has_error()) file.trouble = opened.error().sentence;
    if (opened.has_value() && *opened) save(remote, named.uri, opened->get(), folder, file);
    returned.push_back(std::move(file));
  }
  return returned;
}

std::string format_returned(const std::vector<ReturnedFile>& files, const std::string& hint, Colours colours) {
  std::vector<std::pair<std::string, Cell>> facts;
  for (const auto& file : files) {
    const auto size = file.size > 0 ? fmt::format(" ({})", format_bytes(static_cast<std::uint64_t>(file.size))) : "";
    Cell where{file.path};
    if (!file.trouble.empty())
      where = {fmt::format("{}{} was not saved: {}", file.name, size, file.trouble), Paint::bad};
    if (where.text.empty()) where.text = fmt::format("{}{}, on the server; {}", file.name, size, hint);
    facts.emplace_back("file", std::move(where));
  }
  return format_facts(facts, colours);
}

void write_returned(JsonWriter& out, const std::vector<ReturnedFile>& files) {
  out.objects("files", files, [&](const ReturnedFile& file) {
    out.member("name", file.name);
    if (file.size > 0) out.member("size", file.size);
    out.member_if("path", file.path);
    out.member_if("trouble", file.trouble);
  });
}

void add_saved(Json& task, const std::vector<ReturnedFile>& files) {
  if (std::ranges::all_of(files, [](const ReturnedFile& file) { return file.path.empty() && file.trouble.empty(); }))
    return;
  const auto list = parse_json(json_object([&](JsonWriter& out) { write_returned(out, files); })).value();
  task.set("saved", *list.find("files"));
}

bool all_saved(const std::vector<ReturnedFile>& files) {
  return std::ranges::all_of(files, [](const ReturnedFile& file) { return file.trouble.empty(); });
}

}  // namespace restante::cli
