#include <unistd.h>

#include "store/blobs.h"

namespace restante {

OpenBlob::~OpenBlob() { ::close(fd_); }

}  // namespace restante
