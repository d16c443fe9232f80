#include "server/platform/embedded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "api/download.h"
#include "base/fd.h"

namespace restante {

// For a program without an embedded agent, such as a test; in the server's executable the generated function replaces
// it.
__attribute__((weak)) EmbeddedProgram embedded_program() { return {}; }

api::Program open_agent_program() {
  const EmbeddedProgram embedded = embedded_program();
  if (embedded.name.empty()) return {};
  Fd made(memfd_create("restante-agent", MFD_CLOEXEC));
  if (!made) throw std::system_error(errno, std::generic_category(), "memfd_create");
  const auto file = std::make_shared<const Fd>(std::move(made));
  if (!write_all(file->get(), embedded.bytes)) {
    throw std::system_error(errno, std::generic_category(), "the agent's executable");
  }
  return {embedded.name, embedded.sha256, embedded.bytes.size(), file, file->get()};
}

}  // namespace restante
