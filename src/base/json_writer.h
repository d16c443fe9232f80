// JsonWriter writes compact JSON text in one pass. It sets the commas; the caller is responsible for the nesting.
// Strings must be UTF-8; any other byte is written as U+FFFD, so that a log line or an answer is always valid JSON.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace restante {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void string(std::string_view value);
  void integer(std::int64_t value);
  void real(double value);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }
  // Text that is JSON already, such as a stored column.
  void raw(std::string_view json);

  // One call for a key and its value. Only a bool is a boolean: a pointer does not convert.
  void member(std::string_view name, std::string_view value) { key(name), string(value); }
  void member(std::string_view name, const char* value) { key(name), string(value); }
  void member(std::string_view name, std::int64_t value) { key(name), integer(value); }
  void member(std::string_view name, Time value) { key(name), string(format_time(value)); }
  template <std::same_as<bool> T>
  void member(std::string_view name, T value) {
    key(name), boolean(value);
  }
  template <std::same_as<double> T>
  void member(std::string_view name, T value) {
    key(name), real(value);
  }
  void raw_member(std::string_view name, std::string_view json) { key(name), raw(json); }

  // A value that may be absent: null, or no member at all. An empty text is absent, too.
  void member_or_null(std::string_view name, const auto& value) {
    is_absent(value) ? (key(name), null()) : member(name, value_of(value));
  }
  void member_if(std::string_view name, const auto& value) {
    if (!is_absent(value)) member(name, value_of(value));
  }
  // "name":true, or no member.
  void flag(std::string_view name, bool value) {
    if (value) member(name, true);
  }

  // {…} with what `write()` writes between.
  void object(auto&& write) {
    begin_object();
    write();
    end_object();
  }
  void object(std::string_view name, auto&& write) { key(name), object(write); }
  // […] with what `write(element)` writes for each element of the range.
  void array(const auto& range, auto&& write) {
    begin_array();
    for (const auto& element : range) write(element);
    end_array();
  }
  void array(std::string_view name, const auto& range, auto&& write) { key(name), array(range, write); }
  // The same, each element an object.
  void objects(std::string_view name, const auto& range, auto&& write) {
    array(name, range, [&](const auto& element) { object([&] { write(element); }); });
  }

  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  static bool is_absent(std::string_view text) { return text.empty(); }
  template <class T>
  static bool is_absent(const std::optional<T>& value) {
    return !value;
  }
  static std::string_view value_of(std::string_view text) { return text; }
  template <class T>
  static const T& value_of(const std::optional<T>& value) {
    return *value;
  }

  void separate() {
    if (comma_) out_ += ',';
    comma_ = true;
  }
  void open(char bracket) {
    separate();
    out_ += bracket;
    comma_ = false;
  }
  void close(char bracket) {
    out_ += bracket;
    comma_ = true;
  }

  std::string out_;
  bool comma_ = false;
};

// The text of one object; `write(writer)` writes its members.
std::string json_object(auto&& write) {
  JsonWriter out;
  out.object([&] { write(out); });
  return out.take();
}

// Appends `value` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view value);

}  // namespace restante
