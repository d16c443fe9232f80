// Json is a document exactly as it was sent. Numbers keep their text and objects their order, so a document that is
// stored and passed on stays what the client wrote. parse_json refuses what real parsers treat differently: duplicate
// keys, NUL, invalid UTF-8, lone surrogates, trailing bytes, comments and NaN. Depth and number of nodes are bounded. A
// Json belongs to one thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/system/result.hpp>

namespace restante {

class Json {
 public:
  struct Number {
    std::string text;
  };
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  static Json boolean(bool value) { return Json(Value(value)); }
  static Json number(std::int64_t value) { return Json(Value(Number{std::to_string(value)})); }
  static Json number_text(std::string text) { return Json(Value(Number{std::move(text)})); }
  static Json string(std::string value) { return Json(Value(std::move(value))); }
  static Json array(Array value = {}) { return Json(Value(std::move(value))); }
  static Json object(Object value = {}) { return Json(Value(std::move(value))); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // Each is null or empty unless the value is of exactly that type.
  const bool* if_boolean() const { return std::get_if<bool>(&value_); }
  const Number* if_number() const { return std::get_if<Number>(&value_); }
  const std::string* if_string() const { return std::get_if<std::string>(&value_); }
  const Array* if_array() const { return std::get_if<Array>(&value_); }
  Array* if_array() { return std::get_if<Array>(&value_); }
  const Object* if_object() const { return std::get_if<Object>(&value_); }
  Object* if_object() { return std::get_if<Object>(&value_); }
  // A whole number that fits; 1.0 and 1e3 are not integers here.
  std::optional<std::int64_t> integer() const;
  std::optional<double> real() const;

  // The member of that name; null when it is absent or when this is not an object.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // The member's value for a reader that takes what it can: a missing member, or one of another type, reads as empty.
  std::string text(std::string_view key) const;
  std::int64_t whole(std::string_view key) const;
  bool flag(std::string_view key) const;
  const Array& items(std::string_view key) const;
  // Replaces or appends; a null becomes an object first.
  void set(std::string_view key, Json value);
  void erase(std::string_view key);

  // Compact: no space after ':' or ','.
  std::string dump() const;

 private:
  using Value = std::variant<std::monostate, bool, Number, std::string, Array, Object>;
  explicit Json(Value value) : value_(std::move(value)) {}
  Value value_;
};

enum class JsonFault { malformed, too_deep, too_many_nodes, duplicate_key, nul_not_allowed };

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t nodes = 10'000;
};

boost::system::result<Json, JsonFault> parse_json(std::string_view text, JsonLimits limits = {});

[[noreturn]] void throw_exception_from_error(const JsonFault& fault, const boost::source_location&);

}  // namespace restante
