#include "postgres_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "base/crypto.h"
#include "base/text.h"
#include "base/uuid.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/schema/migrations.h"

namespace restante::testing {
namespace {

// The private server ends when our end of its standard input is closed, whatever the reason.
std::string start_private_server() {
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  if (fork() == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    execl("/usr/bin/python3", "python3", RESTANTE_SOURCE_DIR "/tests/support/postgres.py", nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  FILE* answer = fdopen(output[0], "r");
  char url[512];
  if (!std::fgets(url, sizeof url, answer)) throw std::runtime_error("PostgreSQL did not start");
  std::fclose(answer);
  std::string text = url;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The server that a run of all tests has started for them; empty when there is none.
std::string shared_server() {
  const char* file = std::getenv("RESTANTE_TEST_POSTGRES_FILE");
  std::string url;
  if (file) std::getline(std::ifstream(file), url);
  return url;
}

const std::string& server_url() {
  static const std::string url = [] {
    if (const char* given = std::getenv("RESTANTE_TEST_POSTGRES")) return std::string(given);
    const std::string shared = shared_server();
    return shared.empty() ? start_private_server() : shared;
  }();
  return url;
}

std::string url_of(const std::string& database) {
  return server_url().substr(0, server_url().rfind('/') + 1) + database;
}

postgres::ConnectionOptions patient(const std::string& url) {
  postgres::ConnectionOptions endpoint;
  endpoint.url = url;
  endpoint.connect_timeout = endpoint.answer_timeout = endpoint.statement_timeout = std::chrono::minutes(2);
  return endpoint;
}

void command(const std::string& sql) { postgres::Connection(patient(server_url())).query(sql); }

void migrate(const std::string& url) {
  postgres::Connection connection(patient(url));
  postgres::Migrations(connection).up();
}

// A database with all tables and no rows, made by the first test that needs it. Its name contains the digest of the
// migrations, because another build's template may exist beside it.
const std::string& migrated_template() {
  static const std::string name = [] {
    std::string steps;
    for (const auto& migration : postgres::known_migrations()) steps += migration.up;
    std::string made = "template_" + to_hex(sha256(steps)).substr(0, 16);
    postgres::Connection connection(patient(server_url()));
    connection.query("SELECT pg_advisory_lock($1)", std::int64_t{1});
    if (connection.query("SELECT 1 FROM pg_database WHERE datname = $1", made).empty()) {
      const std::string temporary = "test_" + Uuid::make(SystemClock().now()).hex();
      connection.query("CREATE DATABASE " + temporary);
      migrate(url_of(temporary));
      connection.query("ALTER DATABASE " + temporary + " RENAME TO " + made);
    }
    return made;
  }();
  return name;
}

// Copies files instead of logging every page: no test needs the database after a crash. Before 15 there is no other
// way.
const std::string& copying() {
  static const std::string clause = [] {
    postgres::Connection connection(patient(server_url()));
    const auto knows = connection.query("SELECT current_setting('server_version_num')::bigint >= 150000");
    return knows.front().boolean(0) ? " STRATEGY file_copy" : "";
  }();
  return clause;
}

}  // namespace

postgres::Options patient_options() {
  postgres::Options options;
  options.connect_timeout = options.statement_timeout = std::chrono::minutes(2);
  return options;
}

PostgresDatabase::PostgresDatabase(Schema schema)
    : name_("test_" + Uuid::make(SystemClock().now()).hex()), url_(url_of(name_)) {
  command(schema == Schema::none ? "CREATE DATABASE " + name_
                                 : "CREATE DATABASE " + name_ + " TEMPLATE " + migrated_template() + copying());
}

PostgresDatabase::~PostgresDatabase() {
  try {
    command("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s stays: %s\n", name_.c_str(), e.what());
  }
}

}  // namespace restante::testing
