// Runs one fuzz target over every file of the given folders, without libFuzzer: the corpus is a regression test with
// any compiler. Fails when a folder has no file, so that a missing corpus is not a success.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

bool replay(const std::filesystem::path& folder) {
  const auto files = files_of(folder);
  for (const auto& file : files) {
    // Printed before it runs, so that the input of a crash is known.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  if (files.empty()) std::fprintf(stderr, "no inputs in %s\n", folder.c_str());
  return !files.empty();
}

}  // namespace

int main(int argc, char** argv) {
  bool all = argc > 1;
  if (!all) std::fprintf(stderr, "usage: %s <folder of inputs>…\n", argv[0]);
  for (int i = 1; i < argc; ++i) all = replay(argv[i]) && all;
  return all ? 0 : 1;
}
