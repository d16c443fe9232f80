// Values as PostgreSQL sends them: binary, big-endian, each with its type, so that nothing is quoted, cut or rounded.
// Parameters are the values of one statement, an Array is one parameter with many values. Rows are an answer. Values
// only; a Rows belongs to one thread at a time. Reading a column as another type than it has throws std::logic_error.
#pragma once
#include <libpq-fe.h>

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/sql/row.h"
#include "store/sql/value.h"

namespace restante::postgres {

using restante::Bytes;

// PostgreSQL's numbers of its types; 0 lets it infer the type, which is right for text that may become json.
enum class Type : Oid {
  any = 0,
  boolean = 16,
  bytea = 17,
  int8 = 20,
  text = 25,
  json = 114,
  float8 = 701,
  timestamptz = 1184,
  uuid = 2950
};

namespace binary {

void put_int32(std::string& out, std::int32_t value);
void put_int64(std::string& out, std::int64_t value);
std::int64_t get_int64(const char* data);

// Writes a value of a C++ type.
inline void put(std::string& out, std::int64_t value) { put_int64(out, value); }
inline void put(std::string& out, double value) { put_int64(out, std::bit_cast<std::int64_t>(value)); }
inline void put(std::string& out, bool value) { out.push_back(value ? '\1' : '\0'); }
inline void put(std::string& out, std::string_view value) { out += value; }
inline void put(std::string& out, Bytes value) { out += value.bytes; }
void put(std::string& out, Time value);
inline void put(std::string& out, const Digest& value) {
  out.append(reinterpret_cast<const char*>(value.data()), value.size());
}
template <class Tag>
void put(std::string& out, const Id<Tag>& value) {
  const auto& bytes = value.uuid().bytes();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace binary

// One parameter with many values: for statements that write many rows at once.
class Array {
 public:
  explicit Array(Type element);
  template <class T>
  void add(const T& value) {
    const std::size_t at = bytes_.size();
    binary::put_int32(bytes_, 0);
    binary::put(bytes_, value);
    close(at);
  }
  void add(const std::string& value) { add(std::string_view(value)); }
  template <class T>
  void add(const std::optional<T>& value) {
    value ? add(*value) : add_null();
  }
  void add_null();
  bool empty() const { return count_ == 0; }
  void clear();

  Oid type() const;
  // Ready to be sent.
  std::string_view bytes() const;

 private:
  void close(std::size_t at);

  Type element_;
  std::size_t count_ = 0;
  bool has_null_ = false;
  mutable std::string bytes_;
};

class Parameters {
 public:
  template <class... Args>
  explicit Parameters(const Args&... args) {
    (add(args), ...);
  }

  explicit Parameters(std::span<const Array> arrays) {
    for (const Array& array : arrays) add(array);
  }
  explicit Parameters(std::span<const SqlValue> values) {
    for (const SqlValue& value : values) add(value);
  }

  int count() const { return static_cast<int>(types_.size()); }
  const Oid* types() const { return types_.data(); }
  // For libpq; valid as long as this object and the arrays, texts and bytes in it.
  const char* const* values() const;
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void add(const SqlValue& value);
  void add(const Array& array);
  void add_reference(Oid type, std::string_view bytes);
  void add_null(Type type);
  void add_offset(Type type, std::size_t at);

  std::string bytes_;
  std::vector<Oid> types_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<std::ptrdiff_t> offsets_;  // in bytes_; kNull; kReference for an array, text or bytes
  std::vector<const char*> references_;
  mutable std::vector<const char*> values_;
};

// One row of an answer, valid as long as the answer.
class Row final : public SqlRow {
 public:
  Row(const PGresult* result, int row) : result_(result), row_(row) {}

  bool is_null(int column) const override { return PQgetisnull(result_, row_, column) != 0; }
  std::int64_t integer(int column) const override { return binary::get_int64(data(column, 8)); }
  double real(int column) const override { return std::bit_cast<double>(integer(column)); }
  bool boolean(int column) const override { return *data(column, 1) != 0; }
  Time time(int column) const override;
  std::string_view view(int column) const override;

 private:
  const char* data(int column, std::size_t size) const override;

  const PGresult* result_;
  int row_;
};

class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}

  int size() const { return PQntuples(result_.get()); }
  bool empty() const { return size() == 0; }
  Row operator[](int row) const { return {result_.get(), row}; }
  Row front() const { return (*this)[0]; }
  // The kind of statement that this answers: "COMMIT".
  std::string_view command() const { return PQcmdStatus(result_.get()); }
  // How many rows a statement changed.
  std::int64_t affected() const;

  class Iterator {
   public:
    Iterator(const PGresult* result, int row) : result_(result), row_(row) {}
    Row operator*() const { return {result_, row_}; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const PGresult* result_;
    int row_;
  };
  Iterator begin() const { return {result_.get(), 0}; }
  Iterator end() const { return {result_.get(), size()}; }

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace restante::postgres
