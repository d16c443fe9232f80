#include "postgres_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "base/uuid.h"
#include "store/postgres/connection.h"

namespace restante::testing {
namespace {

// The private server: it ends when our end of its standard input is closed, however that comes about.
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

const std::string& server_url() {
  static const std::string url = [] {
    const char* given = std::getenv("RESTANTE_TEST_POSTGRES");
    return given ? std::string(given) : start_private_server();
  }();
  return url;
}

void command(const std::string& sql) {
  postgres::Endpoint endpoint;
  endpoint.url = server_url();
  endpoint.connect_timeout = endpoint.answer_timeout = endpoint.statement_timeout = std::chrono::minutes(2);
  postgres::Connection(endpoint).query(sql);
}

}  // namespace

PostgresDatabase::PostgresDatabase() : name_("test_" + Uuid::make(SystemClock().now()).hex()) {
  command("CREATE DATABASE " + name_);
  url_ = server_url().substr(0, server_url().rfind('/') + 1) + name_;
}

PostgresDatabase::~PostgresDatabase() {
  try {
    command("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s stays: %s\n", name_.c_str(), e.what());
  }
}

}  // namespace restante::testing
