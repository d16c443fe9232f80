// Checkpointer: moves pages from the write-ahead log into the database while the writer goes on, on a thread and a
// connection of its own. It gets to within a few pages of the writer; only the writer itself can take the last ones,
// after which the log starts over. Thread-safe. A failed sync shows in the connection's Health.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "store/sqlite/database.h"

namespace restante::sqlite {

class Checkpointer {
 public:
  explicit Checkpointer(std::unique_ptr<Database> database);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Unless it is at it already. Never waits.
  void begin();
  // True once each time it has got near: the rest is little, and the writer's.
  bool take_near();

 private:
  void work();
  bool get_near();

  const std::unique_ptr<Database> database_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool near_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace restante::sqlite
