// JsonWriter writes compact JSON text in one pass. It sets the commas; the caller is responsible for the nesting.
// Strings must be UTF-8; any other byte is written as U+FFFD, so that a log line or an answer is always valid JSON.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

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

  void member(std::string_view name, std::string_view value) { key(name), string(value); }
  void member(std::string_view name, const char* value) { key(name), string(value); }
  void member(std::string_view name, std::int64_t value) { key(name), integer(value); }
  void member(std::string_view name, bool value) = delete;  // use boolean(): a pointer would convert silently

  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
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

// Appends `value` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view value);

}  // namespace restante
