#include "desk/principals/idempotency.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

// 1, 1.0 and 10e-1 are one number: its digits without zeros at either end, and an exponent. A number with an absurdly
// large exponent stays as it was written.
std::string canonical_number(std::string_view text) {
  const std::string_view written = text;
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative ? 1 : 0);
  const auto e = text.find_first_of("eE");
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view given = text.substr(e + 1);
    if (given.starts_with('+')) given.remove_prefix(1);
    const auto parsed = given.size() <= 10 ? parse_signed(given) : std::nullopt;
    if (!parsed) return std::string(written);
    exponent = *parsed;
  }
  const std::string_view mantissa = text.substr(0, e);
  const auto point = mantissa.find('.');
  std::string digits(mantissa.substr(0, point));
  if (point != std::string_view::npos) {
    digits += mantissa.substr(point + 1);
    exponent -= static_cast<std::int64_t>(mantissa.size() - point - 1);
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  return (negative ? "-" : "") + digits + "e" + std::to_string(exponent);
}

void write_canonical(const Json& value, JsonWriter& out) {
  if (const auto* object = value.if_object()) {
    std::vector<const Json::Member*> members;
    for (const Json::Member& member : *object) members.push_back(&member);
    std::ranges::sort(members, {}, [](const Json::Member* member) -> const std::string& { return member->first; });
    out.object([&] {
      for (const Json::Member* member : members) {
        out.key(member->first);
        write_canonical(member->second, out);
      }
    });
  } else if (const auto* array = value.if_array()) {
    out.array(*array, [&](const Json& item) { write_canonical(item, out); });
  } else if (const auto* number = value.if_number()) {
    out.raw(canonical_number(number->text));
  } else {
    out.raw(value.dump());
  }
}

}  // namespace

struct IdempotencyLocks::RunningScopes {
  Mutex mutex;  // requests end on the writer's and on any pool thread
  std::set<Digest> scopes RESTANTE_GUARDED_BY(mutex);
};

IdempotencyLocks::IdempotencyLock::~IdempotencyLock() { release(); }

void IdempotencyLocks::IdempotencyLock::hold(std::shared_ptr<RunningScopes> running) {
  const MutexLock lock(mutex_);
  running_ = std::move(running);
}

void IdempotencyLocks::IdempotencyLock::release() {
  std::shared_ptr<RunningScopes> running;
  {
    const MutexLock lock(mutex_);
    running.swap(running_);
  }
  if (!running) return;
  const MutexLock lock(running->mutex);
  running->scopes.erase(scope_);
}

IdempotencyLocks::IdempotencyLocks(ClaimStore& store, const Clock& clock)
    : store_(store), clock_(clock), running_(std::make_shared<RunningScopes>()) {}

Result<std::shared_ptr<IdempotencyLocks::IdempotencyLock>> IdempotencyLocks::enter(const Digest& scope) {
  // Made first: a scope without a lock would stay locked until the server ends.
  auto made = std::make_shared<IdempotencyLock>(scope);
  {
    const MutexLock lock(running_->mutex);
    if (!running_->scopes.insert(scope).second) return errors::idempotency_in_progress;
  }
  made->hold(running_);
  return made;
}

std::string canonical_text(const Json& value) {
  JsonWriter out;
  write_canonical(value, out);
  return out.take();
}

}  // namespace restante::desk
