// SoundnessCheck: reads a whole database file while it is in use, on its own thread and connection, and records damage
// in Health, after which nothing is written any more and /ready says why. For files that are too large to be read
// before the server is ready. While it runs, the write-ahead log is not copied beyond the moment at which it began.
#pragma once
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

// Empty, or the first fault that SQLite finds. Reads everything.
std::string find_damage(Database& database);

class SoundnessCheck {
 public:
  SoundnessCheck(std::unique_ptr<Database> database, Health& health);
  // Ends the check early.
  ~SoundnessCheck();
  SoundnessCheck(const SoundnessCheck&) = delete;
  SoundnessCheck& operator=(const SoundnessCheck&) = delete;

 private:
  void work();

  const std::unique_ptr<Database> database_;
  Health& health_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool stopping_ RESTANTE_GUARDED_BY(mutex_) = false;
  bool ended_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace restante::sqlite
