// SqlRow: one row of an answer, read by the number of the column. A row of SQLite is valid until the next one is read.
// Reading a column as another type than it has throws.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/uuid.h"

namespace restante {

class SqlRow {
 public:
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual bool boolean(int column) const = 0;
  virtual Time time(int column) const = 0;
  // NULL reads as empty. Valid as long as the row.
  virtual std::string_view view(int column) const = 0;

  std::string text(int column) const { return std::string(view(column)); }
  Digest digest(int column) const { return bytes<32>(column); }
  template <class AnyId>
  AnyId id(int column) const {
    return AnyId(Uuid(bytes<16>(column)));
  }
  template <class AnyId>
  std::optional<AnyId> optional_id(int column) const {
    return is_null(column) ? std::nullopt : std::optional<AnyId>(id<AnyId>(column));
  }
  std::optional<Time> optional_time(int column) const {
    return is_null(column) ? std::nullopt : std::optional<Time>(time(column));
  }
  std::optional<std::int64_t> optional_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional<std::int64_t>(integer(column));
  }

 protected:
  ~SqlRow() = default;
  // The bytes of a value of this size that is not NULL.
  virtual const char* data(int column, std::size_t size) const = 0;

 private:
  template <std::size_t N>
  std::array<std::uint8_t, N> bytes(int column) const {
    std::array<std::uint8_t, N> out{};
    std::memcpy(out.data(), data(column, N), N);
    return out;
  }
};

}  // namespace restante
