#include "server/platform/embedded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "api/download.h"
#include "base/fd.h"

namespace restante {

// For a program without embedded agents, such as a test; in the server's executable the generated functions replace
// them.
__attribute__((weak)) EmbeddedProgram embedded_program() { return {}; }
__attribute__((weak)) EmbeddedProgram embedded_python_client() { return {}; }

namespace {

api::Program open_embedded(const EmbeddedProgram& embedded) {
  if (embedded.name.empty()) return {};
  Fd made(memfd_create("restante-agent", MFD_CLOEXEC));
  if (!made) throw std::system_error(errno, std::generic_category(), "memfd_create");
  const auto file = std::make_shared<const Fd>(std::move(made));
  if (!write_all(file->get(), embedded.bytes)) {
    throw std::system_error(errno, std::generic_category(), embedded.name);
  }
  return {embedded.name, embedded.sha256, embedded.bytes.size(), file, file->get()};
}

}  // namespace

api::Program open_agent_program() { return open_embedded(embedded_program()); }

api::Program open_python_client() {
  api::Program program = open_embedded(embedded_python_client());
  program.media_type = "text/x-python; charset=utf-8";
  return program;
}

}  // namespace restante
