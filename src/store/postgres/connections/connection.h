// Connection is one session of a PostgreSQL server, with its prepared statements. send() queues statements and sync()
// gets all their answers: a round trip is paid once, however many there are. SQL text is prepared once and kept; values
// are bound, never pasted into it. Every wait ends: a server that does not answer in time counts as lost. Belongs to
// one thread at a time. Throws what failures.h lists; after Lost it can only be destroyed.
#pragma once
#include <libpq-fe.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/shutdown_deadline.h"
#include "store/postgres/connections/failures.h"
#include "store/postgres/connections/values.h"
#include "store/sql/reader.h"

namespace restante::postgres {

struct ConnectionOptions {
  std::string url;
  std::chrono::milliseconds connect_timeout{5'000};
  // How long the server may work on one statement, and how long we wait for any answer.
  std::chrono::milliseconds statement_timeout{15'000};
  std::chrono::milliseconds answer_timeout{20'000};
  const ShutdownDeadline* shutdown_deadline = nullptr;  // ends every wait early; may be null
  // Called when no session can be opened: the pool may close one of its own.
  std::function<void()> on_no_session{};
};

class Connection final : public SqlReader {
 public:
  // Connects to the first usable host if the url names several: one that takes writes, unless the url says otherwise.
  // Throws Lost with the server's reason, never with the password.
  explicit Connection(const ConnectionOptions& endpoint);
  ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Queues a statement; it runs at the latest with the next sync().
  template <class... Args>
  void send(std::string_view sql, const Args&... args) {
    send_with(sql, Parameters(args...));
  }
  void send_arrays(std::string_view sql, std::span<const Array> arrays) { send_with(sql, Parameters(arrays)); }
  // The answers to the queued statements, in order. After a failure the rest of the queue has not run; the first
  // failure is thrown.
  std::vector<Rows> sync();
  // One statement, its answer.
  template <class... Args>
  Rows query(std::string_view sql, const Args&... args) {
    send(sql, args...);
    return std::move(sync().back());
  }
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    query(sql, args...);
  }
  const SqlDialect& dialect() const override;
  void visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) override;
  void visit_rows_of(std::string_view sql, std::span<const SqlValue> keys, const VisitRowOf& visit) override;
  // The same as send() and query().
  void send_values(std::string_view sql, std::span<const SqlValue> values) { send_with(sql, Parameters(values)); }
  Rows query_values(std::string_view sql, std::span<const SqlValue> values) {
    send_values(sql, values);
    return std::move(sync().back());
  }
  // Several statements in one text, without values or answers.
  void execute(const std::string& script);

  bool in_transaction() const;
  // A statement of the open transaction has failed: it can only be rolled back.
  bool is_broken() const { return PQtransactionStatus(handle_.get()) == PQTRANS_INERROR; }
  // Rolls back the open transaction, if there is one. Never throws: in_transaction() shows whether it worked.
  void rollback() noexcept;
  // The notifications since the last call, by channel and text. Waits for one at most for `patience`.
  std::vector<std::pair<std::string, std::string>> notifications(std::chrono::milliseconds patience, int wake_fd);
  bool lost() const { return lost_; }

  // Which server this is a session of, as Primary found out; the default until it has asked.
  struct Server {
    Time start{};                  // when it was started
    std::uint64_t generation = 0;  // Primary's, when the session was last asked
  };
  const Server& server() const { return server_; }
  void set_server(Server server) { server_ = server; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Finish {
    void operator()(PGconn* handle) const { PQfinish(handle); }
  };
  struct Result {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // One queued statement, in the order of the answers.
  struct Queued {
    const std::string* prepares;  // the SQL that is prepared; null: the caller waits for the answer
  };

  struct Host;
  static std::vector<Host> hosts_of(const std::string& url);
  void connect(const ConnectionOptions& endpoint);
  void connect_to(const Host& host, const ConnectionOptions& endpoint, Deadline until);
  void configure_session(const ConnectionOptions& endpoint);
  void send_with(std::string_view sql, const Parameters& parameters);
  const std::string& prepare(std::string_view sql, const Parameters& parameters);
  PGresult* next_result(Deadline deadline);
  void wait_for(short events, Deadline deadline);
  void require(int ok);
  Deadline deadline() const { return std::chrono::steady_clock::now() + answer_timeout_; }
  [[noreturn]] void give_up(const std::string& why);

  std::unique_ptr<PGconn, Finish> handle_;
  const ShutdownDeadline* const shutdown_deadline_;
  std::chrono::milliseconds answer_timeout_{};
  bool lost_ = false;
  Server server_;
  std::vector<Queued> queue_;
  std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> prepared_;
  int last_name_ = 0;
};

}  // namespace restante::postgres
