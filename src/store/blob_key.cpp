#include "store/blob_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/uuid.h"

namespace restante {
namespace {

constexpr std::size_t kKeyDigits = 32;
constexpr std::size_t kTimeDigits = 12;  // milliseconds, as a version 7 UUID has them
constexpr char kTrial = '0';             // in the digit after the time; other keys have the UUID's version there
constexpr std::int64_t kMostMillis = (std::int64_t{1} << 48) - 1;

}  // namespace

std::string new_blob_key(Time now) { return Uuid::make(now).hex(); }

bool is_blob_key(std::string_view text) {
  return text.size() == kKeyDigits &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

Time time_of_blob_key(std::string_view key) {
  std::int64_t millis = 0;
  for (const char c : key.substr(0, kTimeDigits)) millis = millis * 16 + hex_digit(c);
  return Time(std::chrono::milliseconds(millis));
}

std::string trial_blob_key(Time now) {
  std::string key = new_blob_key(now);
  key[kTimeDigits] = kTrial;
  return key;
}

bool is_trial_blob_key(std::string_view key) { return key[kTimeDigits] == kTrial; }

std::string first_blob_key(Time time) {
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(time.time_since_epoch()).count();
  if (millis > kMostMillis) return "g";  // sorts after every hex digit
  return fmt::format("{:012x}", std::max<std::int64_t>(millis, 0));
}

}  // namespace restante
