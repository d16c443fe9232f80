#include "killed.h"

#include <dlfcn.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace restante::testing {
namespace {

std::atomic<int> left{0};  // statements until the kill; 0: not counting

void count_statement() {
  int now = left.load();
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) continue;
  if (now == 1) kill(getpid(), SIGKILL);
}

int watch_statements(sqlite3* database, char**, const void*) {
  const auto traced = [](unsigned, void*, void*, void*) {
    count_statement();
    return 0;
  };
  return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, traced, nullptr);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Everything queued so far is sent first: the server may already have executed it.
void count_message(PGconn* connection) {
  if (left.load() == 1) PQflush(connection);
  count_statement();
}

}  // namespace

KillOutcome kill_at_statement(int number, const std::function<std::unique_ptr<Store>()>& open,
                              const std::function<void(Store&)>& work) {
  const pid_t child = fork();
  if (child == 0) {
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch_statements));
    try {
      const auto store = open();
      left.store(number);
      work(*store);
      left.store(0);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return KillOutcome::killed;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? KillOutcome::finished : KillOutcome::failed;
}

}  // namespace restante::testing

// These replace libpq's own functions.
extern "C" {

int PQsendQueryPrepared(PGconn* connection, const char* name, int count, const char* const* values, const int* lengths,
                        const int* formats, int format) {
  static auto* const original = restante::testing::next<decltype(PQsendQueryPrepared)>("PQsendQueryPrepared");
  restante::testing::count_message(connection);
  return original(connection, name, count, values, lengths, formats, format);
}

int PQsendQuery(PGconn* connection, const char* text) {
  static auto* const original = restante::testing::next<decltype(PQsendQuery)>("PQsendQuery");
  restante::testing::count_message(connection);
  return original(connection, text);
}

int PQpipelineSync(PGconn* connection) {
  static auto* const original = restante::testing::next<decltype(PQpipelineSync)>("PQpipelineSync");
  restante::testing::count_message(connection);
  return original(connection);
}

}  // extern "C"
