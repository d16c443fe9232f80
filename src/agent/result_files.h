// Result files: what a command left in the folder it was given (see exec.h), for whoever asked. Regular files of that
// folder itself, by name; everything else is refused with a reason that the asker is told. The folder stays until they
// are sent.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace restante::agent {

constexpr std::size_t kMostResultFiles = 64;

struct ResultFile {
  std::string path;
  std::uint64_t size = 0;
};

struct ResultFiles {
  std::vector<ResultFile> files;
  std::vector<std::string> refused;  // "name: why"
};

// Nothing of either when there is no such folder.
ResultFiles find_result_files(const std::string& folder);
// With all that is in it; never through a link.
void discard_folder(const std::string& folder);

}  // namespace restante::agent
