#include "store/sqlite/database/checkpointer.h"

#include <utility>

namespace restante::sqlite {
namespace {

// Each pass leaves the pages that were written while it ran, about a quarter of those it copied.
constexpr int kPasses = 3;
constexpr int kNearPages = 200;

}  // namespace

Checkpointer::Checkpointer(std::unique_ptr<Database> database) : database_(std::move(database)) {
  thread_ = std::thread([this] { work(); });
}

Checkpointer::~Checkpointer() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Checkpointer::begin() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(wanted_, true)) return;
  }
  changed_.notify_one();
}

bool Checkpointer::take_near() {
  const MutexLock lock(mutex_);
  return std::exchange(near_, false);
}

void Checkpointer::work() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && !wanted_) changed_.wait(lock);
    if (stopping_) return;
    lock.unlock();
    const bool near = get_near();
    lock.lock();
    wanted_ = false;
    near_ = near;
  }
}

bool Checkpointer::get_near() {
  try {
    for (int pass = 0; pass < kPasses; ++pass) {
      if (database_->checkpoint(Database::Checkpoint::passive) < kNearPages) break;
    }
    return true;
  } catch (const std::exception&) {
    // The disk may have space again when the writer asks the next time. No verb failed because of this.
    return false;
  }
}

}  // namespace restante::sqlite
