#include "store/postgres/connections/connection.h"

#include <poll.h>

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "base/blocking_scope.h"
#include "base/text.h"

namespace restante::postgres {
namespace {

using Milliseconds = std::chrono::milliseconds;

// How often a wait checks whether the server is shutting down.
constexpr Milliseconds kShutdownCheck(200);

// One line for the log: libpq's messages have line breaks and indentation.
std::string words_of(const char* message) {
  std::string words;
  for (const char c : std::string_view(message)) {
    const bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space) {
      words += c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  if (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

struct Failure {
  std::string sqlstate;
  std::string what;
};

Failure failure_of(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* what = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return {sqlstate ? sqlstate : "", what ? words_of(what) : words_of(PQresultErrorMessage(result))};
}

bool has_failed(const PGresult* result) {
  const auto status = PQresultStatus(result);
  return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

}  // namespace

Connection::Connection(const ConnectionOptions& endpoint)
    : shutdown_deadline_(endpoint.shutdown_deadline), answer_timeout_(endpoint.connect_timeout) {
  try {
    connect(endpoint);
  } catch (const Lost&) {
    if (endpoint.on_no_session) endpoint.on_no_session();
    throw;
  }
  configure_session(endpoint);
  answer_timeout_ = endpoint.answer_timeout;
}

struct Connection::Host {
  std::string name;  // empty: as in the url
  std::string port;
  bool must_write = false;  // otherwise as the url says
};

// The hosts among which a url gives the choice, or one empty Host for the url as it is.
std::vector<Connection::Host> Connection::hosts_of(const std::string& url) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(PQconninfoParse(url.c_str(), nullptr),
                                                                              PQconninfoFree);
  const auto values_of = [&](std::string_view keyword) {
    std::vector<std::string> values;
    for (const PQconninfoOption* option = parsed.get(); option && option->keyword; ++option) {
      if (keyword != option->keyword || !option->val) continue;
      for (const std::string_view value : split(option->val, ',')) values.emplace_back(value);
    }
    return values;
  };
  const auto names = values_of("host");
  const auto ports = values_of("port");
  const auto addresses = values_of("hostaddr");
  // Of several hosts at most one takes writes.
  const bool must_write = std::max(names.size(), addresses.size()) > 1 && values_of("target_session_attrs").empty();
  if (names.size() < 2 || !addresses.empty()) return {{"", "", must_write}};
  std::vector<Host> hosts;
  for (const auto& name : names) {
    const std::string port = ports.empty() ? "" : ports.size() == names.size() ? ports[hosts.size()] : ports.front();
    hosts.push_back({name, port, must_write});
  }
  return hosts;
}

// Tries one host after the other itself: libpq would wait for a silent host until the time is used up.
void Connection::connect(const ConnectionOptions& endpoint) {
  const auto hosts = hosts_of(endpoint.url);
  const auto share = answer_timeout_ / static_cast<int>(hosts.size());
  std::string reasons;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    try {
      return connect_to(hosts[i], endpoint, std::chrono::steady_clock::now() + share);
    } catch (const Lost& lost) {
      if (hosts.size() == 1) throw;
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", hosts[i].name, lost.what());
    }
  }
  throw Lost(reasons);
}

void Connection::connect_to(const Host& host, const ConnectionOptions& endpoint, Deadline until) {
  // The url comes first: the parameters after it override what it contains.
  std::vector<const char*> names = {"dbname", "client_encoding", "fallback_application_name"};
  std::vector<const char*> values = {endpoint.url.c_str(), "UTF8", "restante"};
  const auto set = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  if (!host.name.empty()) set("host", host.name.c_str());
  if (!host.port.empty()) set("port", host.port.c_str());
  if (host.must_write) set("target_session_attrs", "read-write");
  set(nullptr, nullptr);
  lost_ = false;
  handle_.reset(PQconnectStartParams(names.data(), values.data(), 1));
  if (!handle_) throw std::bad_alloc();
  // libpq would print notices on stderr, where our log is. The reason why a session ended is reported at its next use.
  PQsetNoticeReceiver(handle_.get(), [](void*, const PGresult*) {}, nullptr);
  auto state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK && PQstatus(handle_.get()) != CONNECTION_BAD) {
    wait_for(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until);
    state = PQconnectPoll(handle_.get());
    if (state == PGRES_POLLING_FAILED) break;
  }
  if (PQstatus(handle_.get()) != CONNECTION_OK) give_up(words_of(PQerrorMessage(handle_.get())));
  require(PQsetnonblocking(handle_.get(), 1) == 0);
  require(PQenterPipelineMode(handle_.get()));
}

void Connection::configure_session(const ConnectionOptions& endpoint) {
  const auto ms = [](Milliseconds time) { return std::to_string(time.count()); };
  // lock_timeout is shorter than statement_timeout, so that a lock that is not granted is not taken for a slow
  // statement. A session of ours that was left in the middle of a transaction must not keep an inbox locked. Whatever
  // the database's defaults are, an answer is durable, and a statement sees everything that was committed before it.
  send(
      "SELECT set_config('TimeZone', 'UTC', false), set_config('statement_timeout', $1, false), "
      "set_config('lock_timeout', $2, false), set_config('idle_in_transaction_session_timeout', $1, false), "
      "set_config('default_transaction_isolation', 'read committed', false), "
      "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE "
      "current_setting('synchronous_commit') END, false)",
      ms(endpoint.statement_timeout), ms(endpoint.statement_timeout * 3 / 4));
  // Every statement is written for its index. Its plan is made once and kept, and must not depend on how small a table
  // was at that time.
  send(
      "SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false), "
      "set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), "
      "set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false)");
  sync();
}

void Connection::send_with(std::string_view sql, const Parameters& parameters) {
  const std::string& name = prepare(sql, parameters);
  require(PQsendQueryPrepared(handle_.get(), name.c_str(), parameters.count(), parameters.values(),
                              parameters.lengths(), parameters.formats(), 1));
  queue_.push_back({nullptr});
}

const std::string& Connection::prepare(std::string_view sql, const Parameters& parameters) {
  if (const auto found = prepared_.find(sql); found != prepared_.end()) return found->second;
  const auto made = prepared_.emplace(std::string(sql), "s" + std::to_string(++last_name_)).first;
  require(
      PQsendPrepare(handle_.get(), made->second.c_str(), made->first.c_str(), parameters.count(), parameters.types()));
  queue_.push_back({&made->first});
  return made->second;
}

std::vector<Rows> Connection::sync() {
  require(PQpipelineSync(handle_.get()));
  const auto until = deadline();
  std::vector<Rows> answers;
  std::optional<Failure> failure;
  const auto queue = std::exchange(queue_, {});
  for (const Queued& queued : queue) {
    std::unique_ptr<PGresult, Result> result(next_result(until));
    if (!result) give_up("an answer is missing");
    const bool failed = has_failed(result.get());
    // Everything after the first failure is aborted.
    if (failed && PQresultStatus(result.get()) != PGRES_PIPELINE_ABORTED) failure = failure_of(result.get());
    if (queued.prepares) {
      if (failed) prepared_.erase(prepared_.find(*queued.prepares));
    } else if (!failed) {
      answers.emplace_back(result.release());
    }
    // Each answer ends with a null result.
    std::unique_ptr<PGresult, Result> end(next_result(until));
    if (end) give_up("an answer has no end");
  }
  const std::unique_ptr<PGresult, Result> end(next_result(until));
  if (!end || PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC) give_up("the server's answers are out of order");
  if (!failure) return answers;
  try {
    raise(failure->sqlstate, failure->what);
  } catch (const Lost&) {
    lost_ = true;
    throw;
  }
}

const SqlDialect& Connection::dialect() const {
  static constexpr SqlDialect words{
      .greatest = "greatest",
      .least = "least",
      .position = "position",
      .select_content = "SELECT content FROM upload_contents c WHERE c.file_id = p.file_id",
      .names_indexes = false,
  };
  return words;
}

void Connection::visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) {
  for (const Row row : query_values(sql, values)) {
    if (!visit(row)) return;
  }
}

void Connection::visit_rows_of(std::string_view sql, std::span<const SqlValue> keys, const VisitRowOf& visit) {
  for (std::size_t at = 0; at < keys.size(); ++at) send_values(sql, keys.subspan(at, 1));
  const auto answers = sync();
  // Before them come the answers to statements that were queued earlier.
  const std::size_t earlier = answers.size() - keys.size();
  for (std::size_t at = 0; at < keys.size(); ++at) {
    for (const Row row : answers[earlier + at]) visit(at, row);
  }
}

void Connection::execute(const std::string& script) {
  require(PQexitPipelineMode(handle_.get()));
  require(PQsendQuery(handle_.get(), script.c_str()));
  const auto until = deadline();
  std::optional<Failure> failure;
  while (const auto result = std::unique_ptr<PGresult, Result>(next_result(until))) {
    if (has_failed(result.get())) failure = failure_of(result.get());
  }
  require(PQenterPipelineMode(handle_.get()));
  if (failure) raise(failure->sqlstate, failure->what);
}

bool Connection::in_transaction() const {
  const auto status = PQtransactionStatus(handle_.get());
  return !lost_ && (status == PQTRANS_INTRANS || status == PQTRANS_INERROR);
}

void Connection::rollback() noexcept {
  try {
    if (!lost_ && !queue_.empty()) sync();
  } catch (const std::exception&) {
    // A failure of statements that are rolled back anyway.
  }
  try {
    if (in_transaction()) query("ROLLBACK");
  } catch (const std::exception&) {
    lost_ = true;
  }
}

std::vector<std::pair<std::string, std::string>> Connection::notifications(Milliseconds patience, int wake_fd) {
  pollfd wanted[] = {{PQsocket(handle_.get()), POLLIN, 0}, {wake_fd, POLLIN, 0}};
  const int ready = ::poll(wanted, 2, static_cast<int>(patience.count()));
  std::vector<std::pair<std::string, std::string>> received;
  if (ready > 0 && wanted[0].revents != 0) require(PQconsumeInput(handle_.get()));
  while (PGnotify* notify = PQnotifies(handle_.get())) {
    received.emplace_back(notify->relname, notify->extra);
    PQfreemem(notify);
  }
  require(PQstatus(handle_.get()) == CONNECTION_OK);
  return received;
}

PGresult* Connection::next_result(Deadline deadline) {
  int unsent = PQflush(handle_.get());
  while (unsent != 0 || PQisBusy(handle_.get())) {
    require(unsent >= 0);
    wait_for(static_cast<short>(unsent != 0 ? POLLIN | POLLOUT : POLLIN), deadline);
    require(PQconsumeInput(handle_.get()));
    if (unsent != 0) unsent = PQflush(handle_.get());
  }
  return PQgetResult(handle_.get());
}

void Connection::wait_for(short events, Deadline deadline) {
  const BlockingScope waiting;
  for (;;) {
    const auto until = end_of_wait(deadline, shutdown_deadline_);
    const auto left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      lost_ = true;
      throw Stalled("PostgreSQL: no answer in time");
    }
    pollfd wanted{PQsocket(handle_.get()), events, 0};
    if (::poll(&wanted, 1, static_cast<int>(std::min(left, kShutdownCheck).count())) > 0) return;
  }
}

void Connection::require(int ok) {
  if (ok == 0) give_up(words_of(PQerrorMessage(handle_.get())));
}

void Connection::give_up(const std::string& why) {
  lost_ = true;
  throw Lost(fmt::format("PostgreSQL: {}", why));
}

}  // namespace restante::postgres
