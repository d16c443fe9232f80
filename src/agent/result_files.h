// Result files: the files that a command left in its folder (see exec.h), to be sent with its answer. Only regular
// files directly in that folder, in the order of their names; every other entry is refused with a reason that the
// answer contains. The folder stays until the files are sent.
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

// Both lists are empty when there is no such folder.
ResultFiles find_result_files(const std::string& folder);
// Copies files into a new folder, each under its own name, so that they can be sent later as they are now. Returns
// those that cannot be sent, as in `refused`.
std::vector<std::string> collect_files(const std::vector<std::string>& paths, const std::string& folder);
// Deletes the folders of collect_files() below `all` that no unsent reply names: a kill left them.
void forget_answers(const std::string& all, const std::vector<std::string>& unsent);
// Deletes the folder with its content; never through a link.
void discard_folder(const std::string& folder);

}  // namespace restante::agent
