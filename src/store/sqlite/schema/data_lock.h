// DataLock: the lock on a data directory, for one process at a time. Held from construction to destruction; the kernel
// releases it when the process dies. Throws OpenRefused that names the other process when the lock is taken.
#pragma once
#include <filesystem>

#include "base/fd.h"
#include "store/migration.h"

namespace restante::sqlite {

class DataLock {
 public:
  explicit DataLock(const std::filesystem::path& directory);

 private:
  Fd file_;
};

}  // namespace restante::sqlite
