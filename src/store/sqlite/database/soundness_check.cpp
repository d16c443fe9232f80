#include "store/sqlite/database/soundness_check.h"

#include <chrono>

namespace restante::sqlite {
namespace {

constexpr auto kInterruptEvery = std::chrono::milliseconds(5);

}  // namespace

std::string find_damage(Database& database) {
  Statement row = database.query("PRAGMA quick_check(1)");
  const std::string result = row.step() ? row.text(0) : "no answer";
  return result == "ok" ? std::string() : result;
}

SoundnessCheck::SoundnessCheck(std::unique_ptr<Database> database, Health& health)
    : database_(std::move(database)), health_(health), thread_([this] { work(); }) {}

SoundnessCheck::~SoundnessCheck() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    // Again and again: an interrupt that comes just before the statement begins is lost.
    while (!ended_) {
      database_->interrupt();
      changed_.wait_until(lock, std::chrono::steady_clock::now() + kInterruptEvery);
    }
  }
  thread_.join();
}

void SoundnessCheck::work() {
  std::string damage;
  try {
    damage = find_damage(*database_);
  } catch (const std::exception&) {
    // Interrupted; or a fault that the connection has recorded itself.
  }
  const MutexLock lock(mutex_);
  if (!damage.empty() && !stopping_) health_.fail("the database is damaged (" + damage + "); restore a backup");
  ended_ = true;
  changed_.notify_one();
}

}  // namespace restante::sqlite
