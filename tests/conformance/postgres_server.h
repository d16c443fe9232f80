// PostgresServer: the PostgreSQL server of this test process. RESTANTE_TEST_POSTGRES names one that runs already, with
// a role that may create databases, or RESTANTE_TEST_POSTGRES_FILE a file that does; otherwise a private one is started
// at first use and ends with the process.
#pragma once
#include <string>

#include "store/postgres/store.h"

namespace restante::testing {

// A fresh database that is dropped with this. `complete` has all tables.
class PostgresDatabase {
 public:
  enum class Schema { none, complete };
  explicit PostgresDatabase(Schema schema = Schema::none);
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;
  const std::string& url() const { return url_; }

 private:
  std::string name_;
  std::string url_;
};

// Slow is not broken: a busy machine is given its time.
postgres::Options patient_options();

}  // namespace restante::testing
