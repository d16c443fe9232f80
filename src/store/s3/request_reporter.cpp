#include "store/s3/request_reporter.h"

#include <algorithm>

#include "base/names.h"
#include "store/s3/explain.h"

namespace restante::s3 {
namespace {

using client::Failure;

constexpr auto kSameAgain = std::chrono::seconds(10);
constexpr auto kOtherReason = std::chrono::seconds(1);
constexpr auto kFailureIsOld = std::chrono::minutes(15);  // when the operation was not tried again

// By the kind of the failure; one with a status has the outcome of its status.
constexpr Names<Failure::Kind, Failure::Kind::cancelled> kOutcomes{
    "unreachable", "unreachable", "unreachable", "timeout", "cut", "not_s3", "not_s3", "", "stopped", "stopped"};

std::string_view outcome_of(const Failure* failure) {
  if (!failure) return "ok";
  if (failure->kind != Failure::Kind::status) return kOutcomes.of(failure->kind);
  if (is_missing(*failure)) return "missing";
  return is_worth_repeating(*failure) ? "unavailable" : "refused";
}

bool is_trouble(std::string_view outcome) { return outcome != "ok" && outcome != "missing" && outcome != "stopped"; }

}  // namespace

RequestReporter::RequestReporter(const Clock& clock, Log& log, Metrics& metrics)
    : clock_(clock), log_(log), metrics_(metrics) {}

void RequestReporter::attempted(const Attempt& attempt) {
  const auto outcome = outcome_of(attempt.failure);
  metrics_.s3_requests(attempt.operation, outcome).Increment();
  if (attempt.sent > 0) metrics_.s3_bytes("sent").Increment(static_cast<double>(attempt.sent));
  if (attempt.received > 0) metrics_.s3_bytes("received").Increment(static_cast<double>(attempt.received));
  if (is_trouble(outcome)) {
    failed(attempt);
  } else if (outcome != "stopped") {
    succeeded(attempt.operation);
  }
}

void RequestReporter::failed(const Attempt& attempt) {
  const Failure& failure = *attempt.failure;
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  std::erase_if(failed_, [&](const Failed& known) { return known.operation == attempt.operation; });
  failed_.push_back({attempt.operation, failure.sentence, now});
  const auto pause = failure.sentence == logged_ ? kSameAgain : kOtherReason;
  if (!logged_.empty() && now - logged_at_ < pause) {
    ++suppressed_;
    return;
  }
  log_.error("s3_failed", {{"operation", attempt.operation},
                           {"reason", failure.sentence},
                           {"status", std::int64_t{failure.status}},
                           {"unsaid", suppressed_}});
  logged_ = failure.sentence;
  logged_at_ = now;
  suppressed_ = 0;
}

void RequestReporter::succeeded(std::string_view operation) {
  const MutexLock lock(mutex_);
  if (failed_.empty()) return;
  std::erase_if(failed_, [&](const Failed& known) { return known.operation == operation; });
  if (failed_.empty() && !logged_.empty()) {
    log_.info("s3_answers_again", {{"operation", operation}});
    logged_.clear();
  }
}

std::string RequestReporter::trouble() const {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  const bool is_recent = !failed_.empty() && now - failed_.back().at < kFailureIsOld;
  return is_recent ? failed_.back().sentence : std::string();
}

}  // namespace restante::s3
