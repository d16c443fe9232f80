#include "store/sqlite/database/readers.h"

namespace restante::sqlite {

Readers::Readers(const std::string& path, std::size_t count, Health& health, Metrics* metrics) : metrics_(metrics) {
  // Reserved for all, so that give_back() never allocates and never throws.
  idle_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    idle_.push_back(std::make_unique<Database>(path, Database::Mode::read_only, health));
  }
}

Readers::Lease Readers::take() {
  if (metrics_) metrics_->store_reads.Increment();
  MutexLock lock(mutex_);
  while (idle_.empty()) returned_.wait(lock);
  auto database = std::move(idle_.back());
  idle_.pop_back();
  return {*this, std::move(database)};
}

void Readers::give_back(std::unique_ptr<Database> database) {
  {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(database));
  }
  returned_.notify_one();
}

}  // namespace restante::sqlite
