#include "store/postgres/connections/primary.h"

namespace restante::postgres {
namespace {

// How long an answer of one session counts for the others on the same server.
constexpr auto kAnswerLasts = std::chrono::seconds(2);

}  // namespace

struct Primary::Answer {
  // No two servers have the same: a standby has been started at another time than its primary.
  Time server_start;
  bool takes_writes = false;
  SteadyTime asked;
};

Primary::Answer Primary::question(Connection& session) {
  const auto asked = std::chrono::steady_clock::now();
  const auto answer =
      session.query("SELECT pg_postmaster_start_time(), current_setting('transaction_read_only') = 'off'");
  return {answer.front().time(0), answer.front().boolean(1), asked};
}

bool Primary::add(Connection& session) {
  for (;;) {
    const auto before = generation();
    const Answer answer = question(session);
    const MutexLock lock(mutex_);
    // The answer may be older than what is known by now.
    if (generation_ != before) continue;
    if (server_start_ != answer.server_start) {
      if (!answer.takes_writes && takes_writes_)
        throw Lost("PostgreSQL: this server takes no writes, another one does");
      change_to(answer);
    } else if (answer.takes_writes) {
      takes_writes_ = true;
    } else if (takes_writes_) {
      begin_doubt();
    }
    pass(session, answer);
    return answer.takes_writes;
  }
}

bool Primary::has(Connection& session) {
  {
    const MutexLock lock(mutex_);
    if (server_start_ != session.server().start) return false;
    const bool recent = std::chrono::steady_clock::now() < asked_ + kAnswerLasts;
    if (recent && session.server().generation == generation_) return true;
  }
  return ask(session);
}

bool Primary::ask(Connection& session) {
  for (;;) {
    const auto before = generation();
    const Answer answer = question(session);
    const MutexLock lock(mutex_);
    if (server_start_ != answer.server_start) return false;
    if (!answer.takes_writes) {
      if (takes_writes_) begin_doubt();
      return false;
    }
    if (generation_ != before) continue;
    takes_writes_ = true;
    pass(session, answer);
    return true;
  }
}

bool Primary::is_on(const Connection& session) const {
  const MutexLock lock(mutex_);
  return server_start_ == session.server().start;
}

void Primary::doubt() {
  const MutexLock lock(mutex_);
  if (takes_writes_) begin_doubt();
}

std::uint64_t Primary::generation() const {
  const MutexLock lock(mutex_);
  return generation_;
}

void Primary::begin_doubt() {
  takes_writes_ = false;
  ++generation_;
  forget_();
}

void Primary::change_to(const Answer& answer) {
  server_start_ = answer.server_start;
  takes_writes_ = answer.takes_writes;
  ++generation_;
  forget_();
}

void Primary::pass(Connection& session, const Answer& answer) {
  asked_ = answer.asked;
  session.set_server({answer.server_start, generation_});
}

}  // namespace restante::postgres
