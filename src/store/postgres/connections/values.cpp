#include "store/postgres/connections/values.h"

#include <charconv>
#include <limits>

namespace restante::postgres {
namespace {

constexpr std::ptrdiff_t kNull = -1;
constexpr std::ptrdiff_t kReference = -2;
// PostgreSQL counts microseconds from 2000-01-01.
constexpr std::int64_t kEpoch = 946'684'800'000'000;
constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinusInfinity = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kArrayHeader = 20;
constexpr std::uint64_t kLastYear = 253'402'300'800'000'000;  // 10000-01-01; later times are stored as infinity

Oid array_type(Type element) {
  switch (element) {
    case Type::boolean:
      return 1000;
    case Type::bytea:
      return 1001;
    case Type::int8:
      return 1016;
    case Type::text:
      return 1009;
    case Type::json:
      return 199;
    case Type::float8:
      return 1022;
    case Type::timestamptz:
      return 1185;
    case Type::uuid:
      return 2951;
    case Type::any:
      break;
  }
  throw std::logic_error("a type without arrays");
}

// In the order of SqlValue::Kind. Of text the server infers the type.
constexpr Type kTypes[] = {Type::int8, Type::float8, Type::boolean, Type::timestamptz,
                           Type::any,  Type::bytea,  Type::uuid};

void write_int32(char* to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<char>(value >> (24 - 8 * i));
}

}  // namespace

namespace binary {

void put_int32(std::string& out, std::int32_t value) {
  char bytes[4];
  write_int32(bytes, static_cast<std::uint32_t>(value));
  out.append(bytes, sizeof bytes);
}

void put_int64(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  char bytes[8];
  write_int32(bytes, static_cast<std::uint32_t>(bits >> 32));
  write_int32(bytes + 4, static_cast<std::uint32_t>(bits));
  out.append(bytes, sizeof bytes);
}

std::int64_t get_int64(const char* data) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(data[i]);
  return static_cast<std::int64_t>(value);
}

void put(std::string& out, Time value) {
  const std::int64_t micros = value.time_since_epoch().count();
  if (micros >= static_cast<std::int64_t>(kLastYear)) return put_int64(out, kInfinity);
  if (micros <= -static_cast<std::int64_t>(kLastYear)) return put_int64(out, kMinusInfinity);
  put_int64(out, micros - kEpoch);
}

}  // namespace binary

Array::Array(Type element) : element_(element) { clear(); }

void Array::clear() {
  count_ = 0;
  has_null_ = false;
  bytes_.assign(kArrayHeader, '\0');
}

void Array::close(std::size_t at) {
  write_int32(bytes_.data() + at, static_cast<std::uint32_t>(bytes_.size() - at - 4));
  ++count_;
}

void Array::add_null() {
  binary::put_int32(bytes_, -1);
  has_null_ = true;
  ++count_;
}

Oid Array::type() const { return array_type(element_); }

std::string_view Array::bytes() const {
  write_int32(bytes_.data(), count_ == 0 ? 0 : 1);
  write_int32(bytes_.data() + 4, has_null_ ? 1 : 0);
  write_int32(bytes_.data() + 8, static_cast<std::uint32_t>(element_));
  write_int32(bytes_.data() + 12, static_cast<std::uint32_t>(count_));
  write_int32(bytes_.data() + 16, 1);
  // Without elements there are no dimensions either.
  return std::string_view(bytes_).substr(0, count_ == 0 ? 12 : bytes_.size());
}

void Parameters::add_offset(Type type, std::size_t at) {
  types_.push_back(static_cast<Oid>(type));
  lengths_.push_back(static_cast<int>(bytes_.size() - at));
  formats_.push_back(1);
  offsets_.push_back(static_cast<std::ptrdiff_t>(at));
  references_.push_back(nullptr);
}

void Parameters::add(const Array& array) { add_reference(array.type(), array.bytes()); }

void Parameters::add(const SqlValue& value) {
  const Type type = kTypes[static_cast<std::size_t>(value.kind())];
  if (value.is_null()) return add_null(type);
  const std::size_t at = bytes_.size();
  switch (value.kind()) {
    case SqlValue::Kind::integer:
    case SqlValue::Kind::real:
      binary::put_int64(bytes_, value.integer());
      break;
    case SqlValue::Kind::boolean:
      binary::put(bytes_, value.integer() != 0);
      break;
    case SqlValue::Kind::time:
      binary::put(bytes_, value.time());
      break;
    default:
      // Not copied: it may be a mebibyte, and libpq copies it once more.
      return add_reference(static_cast<Oid>(type), value.bytes());
  }
  add_offset(type, at);
}

void Parameters::add_reference(Oid type, std::string_view bytes) {
  add_offset(Type::any, bytes_.size());
  types_.back() = type;
  lengths_.back() = static_cast<int>(bytes.size());
  offsets_.back() = kReference;
  references_.back() = bytes.data();
}

void Parameters::add_null(Type type) {
  add_offset(type, bytes_.size());
  offsets_.back() = kNull;
}

const char* const* Parameters::values() const {
  values_.clear();
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    values_.push_back(offsets_[i] >= 0 ? bytes_.data() + offsets_[i] : references_[i]);
  }
  return values_.data();
}

Time Row::time(int column) const {
  const std::int64_t micros = integer(column);
  if (micros == kInfinity) return Time::max();
  if (micros == kMinusInfinity) return Time::min();
  return Time(std::chrono::microseconds(micros + kEpoch));
}

std::string_view Row::view(int column) const {
  return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

const char* Row::data(int column, std::size_t size) const {
  const auto value = view(column);
  if (value.size() != size) throw std::logic_error("a column is not of the type it is read as");
  return value.data();
}

std::int64_t Rows::affected() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

}  // namespace restante::postgres
