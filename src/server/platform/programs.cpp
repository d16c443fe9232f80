#include "server/platform/embedded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "api/download.h"
#include "base/fd.h"

namespace restante {

// For an executable without embedded programs, such as a test; in the server's executable the generated function
// replaces it.
__attribute__((weak)) std::vector<EmbeddedProgram> embedded_programs() { return {}; }

std::vector<api::Program> open_programs() {
  std::vector<api::Program> opened;
  for (const EmbeddedProgram& embedded : embedded_programs()) {
    Fd made(memfd_create("restante-program", MFD_CLOEXEC));
    if (!made) throw std::system_error(errno, std::generic_category(), "memfd_create");
    const auto file = std::make_shared<const Fd>(std::move(made));
    if (!write_all(file->get(), embedded.bytes)) {
      throw std::system_error(errno, std::generic_category(), embedded.name);
    }
    opened.push_back({embedded.name, embedded.sha256, embedded.bytes.size(), file, file->get()});
  }
  return opened;
}

}  // namespace restante
