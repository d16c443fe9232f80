// Checkpointer: copies pages from the write-ahead log into the database while the writer works, on its own thread and
// connection. It copies all but a few pages; only the writer can copy the last ones, after which the log starts from
// the beginning. Thread-safe. A failed sync is recorded in the connection's Health.
#pragma once
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

class Checkpointer {
 public:
  explicit Checkpointer(std::unique_ptr<Database> database);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Starts a checkpoint unless one is running. Never waits.
  void begin();
  // True once after each checkpoint that left only a few pages: the writer should now copy them.
  bool take_near();

 private:
  void work();
  bool get_near();

  const std::unique_ptr<Database> database_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool wanted_ RESTANTE_GUARDED_BY(mutex_) = false;
  bool near_ RESTANTE_GUARDED_BY(mutex_) = false;
  bool stopping_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace restante::sqlite
