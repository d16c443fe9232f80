// What the build puts into this binary: its version, the built page, and the programs for download. Page and programs
// are in files that tools/embed_page.py and tools/embed_programs.py generate. The agent's own executable has only the
// version. Pure, except open_programs().
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace restante::api {
struct PageFile;
struct Program;
}  // namespace restante::api

namespace restante {

std::string_view version();  // "0.1.0"
std::string_view commit();   // "unknown" outside a checkout
std::string compiler();      // "clang 19.1.7"
std::string version_line();  // "restante 0.1.0 (commit, compiler)"

std::vector<api::PageFile> page_files();

struct EmbeddedProgram {
  std::string name;  // restante-linux-x86_64, restante.py, install.sh
  std::string sha256;
  std::string_view bytes;
};
std::vector<EmbeddedProgram> embedded_programs();

// Opens each as a file without a name, so that it is sent without a copy in memory for every client. Throws
// std::system_error.
std::vector<api::Program> open_programs();

}  // namespace restante
