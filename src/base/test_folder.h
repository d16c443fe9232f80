// TestFolder: a new temporary directory for one test, deleted with everything in it at the end. For tests only.
// Its path has no symbolic links. The constructor throws std::runtime_error if there can be no such directory.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace restante {

class TestFolder {
 public:
  TestFolder() {
    auto name = (std::filesystem::temp_directory_path() / "restante-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = std::filesystem::canonical(name);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

  // Writes a file in the directory and returns its path.
  std::string make(const std::string& name, std::string_view content) const {
    write(path_ / name, content);
    return (path_ / name).string();
  }
  static std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::filesystem::path& file, std::string_view content) {
    std::ofstream(file, std::ios::binary) << content;
  }
  // Every entry of a directory, hidden ones too, sorted.
  static std::vector<std::string> names(const std::filesystem::path& folder) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace restante
