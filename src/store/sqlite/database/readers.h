// Readers: a pool of read connections. take() blocks while all are in use: four keep two cores busy, and a thread that
// waits costs less than a fifth connection. Thread-safe. All leases must be destroyed before the pool.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

class Readers {
 public:
  Readers(const std::string& path, std::size_t count, Health& health, Metrics* metrics);

  class Lease {
   public:
    Lease(Readers& from, std::unique_ptr<Database> database) : from_(from), database_(std::move(database)) {}
    ~Lease() { from_.give_back(std::move(database_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Database& operator*() { return *database_; }
    Database* operator->() { return database_.get(); }

   private:
    Readers& from_;
    std::unique_ptr<Database> database_;
  };
  Lease take();

 private:
  void give_back(std::unique_ptr<Database> database);

  Metrics* const metrics_;
  Mutex mutex_;
  ConditionVariable returned_;
  std::vector<std::unique_ptr<Database>> idle_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::sqlite
