// SqlValue: one value that is bound to a statement. It points to the caller's text and bytes, so it must not outlive
// them. A NULL has a type, too, because PostgreSQL asks for one.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/uuid.h"

namespace restante {

// Text that is stored as bytes.
struct Bytes {
  std::string_view bytes;
};

// Text that is stored as NULL when it is empty.
inline std::optional<std::string_view> or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

class SqlValue {
 public:
  enum class Kind { integer, real, boolean, time, text, bytes, uuid };

  // Not explicit: a verb passes its values as they are.
  SqlValue(std::int64_t value) : SqlValue(Kind::integer, value) {}
  SqlValue(int value) : SqlValue(Kind::integer, value) {}
  SqlValue(double value) : SqlValue(Kind::real, std::bit_cast<std::int64_t>(value)) {}
  SqlValue(bool value) : SqlValue(Kind::boolean, value ? 1 : 0) {}
  SqlValue(Time value) : SqlValue(Kind::time, value.time_since_epoch().count()) {}
  SqlValue(std::string_view value) : SqlValue(Kind::text, value.data(), value.size()) {}
  SqlValue(const std::string& value) : SqlValue(std::string_view(value)) {}
  SqlValue(const char* value) : SqlValue(std::string_view(value)) {}
  SqlValue(Bytes value) : SqlValue(Kind::bytes, value.bytes.data(), value.bytes.size()) {}
  SqlValue(const Digest& value) : SqlValue(Kind::bytes, value.data(), value.size()) {}
  template <class Tag>
  SqlValue(const Id<Tag>& value) : SqlValue(Kind::uuid, value.uuid().bytes().data(), value.uuid().bytes().size()) {}
  SqlValue(std::nullopt_t) : SqlValue(std::optional<std::string_view>()) {}
  template <class T>
  SqlValue(const std::optional<T>& value) : SqlValue(T()) {
    if (value) *this = SqlValue(*value);
    is_null_ = !value;
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return is_null_; }
  // Also of a boolean; of a time: microseconds.
  std::int64_t integer() const { return number_; }
  double real() const { return std::bit_cast<double>(number_); }
  Time time() const { return Time(std::chrono::microseconds(number_)); }
  // Of a text, bytes or a uuid. Never a null pointer, which drivers would store as NULL.
  std::string_view bytes() const { return bytes_; }

 private:
  SqlValue(Kind kind, std::int64_t number) : kind_(kind), number_(number) {}
  SqlValue(Kind kind, const void* data, std::size_t size)
      : kind_(kind),
        bytes_(size == 0 ? std::string_view("") : std::string_view(static_cast<const char*>(data), size)) {}

  Kind kind_;
  bool is_null_ = false;
  std::int64_t number_ = 0;
  std::string_view bytes_;
};

template <class... Args>
std::array<SqlValue, sizeof...(Args)> sql_values(const Args&... args) {
  return {SqlValue(args)...};
}

}  // namespace restante
