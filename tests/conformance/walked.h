// What PostgreSQL's statistics report about the cost of queries. For tests/conformance only.
#pragma once
#include <chrono>
#include <string>
#include <thread>

#include "store/postgres/connections/connection.h"

namespace restante::testing {

inline postgres::ConnectionOptions endpoint_of(const std::string& url) {
  postgres::ConnectionOptions endpoint;
  endpoint.url = url;
  endpoint.connect_timeout = endpoint.answer_timeout = endpoint.statement_timeout = std::chrono::minutes(2);
  return endpoint;
}

// A session reports its statistics when it ends: only then are they complete.
inline void wait_until_alone(postgres::Connection& connection) {
  const auto others = [&] {
    return connection
        .query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND "
            "backend_type = 'client backend'")
        .front()
        .integer(0);
  };
  while (others() > 0) std::this_thread::yield();
  connection.query("SELECT pg_stat_clear_snapshot()");
}

}  // namespace restante::testing
