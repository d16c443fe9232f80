// The PostgreSQL server of this test process. RESTANTE_TEST_POSTGRES names a running one, with a role that may create
// databases, or RESTANTE_TEST_POSTGRES_FILE names a file that contains that url. Otherwise a private server is started
// at the first use and ends with the process.
#pragma once
#include <string>

#include "store/postgres/store.h"

namespace restante::testing {

// A fresh database, dropped with this object. `complete` has all tables.
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

// Long timeouts: a busy machine is slow and must not fail a test.
postgres::Options patient_options();

}  // namespace restante::testing
