// DataLock: one process at a time works on a data directory. Held from construction to destruction, and given back by
// the kernel when the process dies, however it dies. Throws OpenRefused naming the other process when it is taken.
#pragma once
#include <filesystem>

#include "store/sqlite/refused.h"

namespace restante::sqlite {

class DataLock {
 public:
  explicit DataLock(const std::filesystem::path& directory);
  ~DataLock();
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;

 private:
  int fd_;
};

}  // namespace restante::sqlite
