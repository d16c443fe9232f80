#include "agent/result_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"

namespace restante::agent {
namespace {

namespace fs = std::filesystem;

// Why the entry cannot be sent; empty when it can.
std::string refusal(const struct stat& found) {
  if (S_ISLNK(found.st_mode)) return "is a symbolic link";
  if (S_ISDIR(found.st_mode)) return "is a folder";
  if (!S_ISREG(found.st_mode)) return "is no regular file";
  if (found.st_size == 0) return "is empty";
  return {};
}

// A file name that is safe to show in a text.
std::string shown(const std::string& name) {
  std::string text(cut_utf8(name, 100));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';
  }
  return is_valid_utf8(text) ? text : std::string("a file with a strange name");
}

}  // namespace

ResultFiles find_result_files(const std::string& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator next(folder, error), end; !error && next != end; next.increment(error)) {
    entries.push_back(next->path());
  }
  std::ranges::sort(entries);
  ResultFiles found;
  for (const auto& path : entries) {
    struct stat entry{};
    if (lstat(path.c_str(), &entry) != 0) continue;
    std::string why = refusal(entry);
    if (why.empty() && found.files.size() == kMostResultFiles) why = "is one more than can be sent";
    if (why.empty()) {
      found.files.push_back({path.string(), static_cast<std::uint64_t>(entry.st_size)});
    } else {
      found.refused.push_back(shown(path.filename().string()) + ": " + why);
    }
  }
  return found;
}

std::vector<std::string> collect_files(const std::vector<std::string>& paths, const std::string& folder) {
  std::vector<std::string> refused;
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  for (const auto& path : paths) {
    const fs::path from(path);
    const auto name = from.filename().string();
    struct stat found{};
    std::string why;
    if (stat(path.c_str(), &found) != 0) why = std::generic_category().message(errno);
    if (why.empty()) why = refusal(found);
    if (why.empty() && fs::exists(fs::path(folder) / name, error)) why = "is named twice";
    if (why.empty() && !fs::copy_file(from, fs::path(folder) / name, error)) why = error.message();
    if (!why.empty()) refused.push_back(shown(name.empty() ? path : name) + ": " + why);
  }
  return refused;
}

void forget_answers(const std::string& all, const std::vector<std::string>& unsent) {
  std::error_code error;
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(all, error)) left.push_back(entry.path().string());
  for (const auto& folder : left) {
    if (std::ranges::find(unsent, folder) == unsent.end()) discard_folder(folder);
  }
}

void discard_folder(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
}

}  // namespace restante::agent
