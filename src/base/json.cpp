#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <boost/json/basic_parser_impl.hpp>

#include "base/json_writer.h"
#include "base/text.h"

namespace restante {
namespace {

using boost::json::error_code;
using Text = boost::json::string_view;

// Receives the tokens of Boost.JSON's parser and builds the document. To return false ends the parse; fault_ is the
// reason.
class Builder {
 public:
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  explicit Builder(JsonLimits limits) : limits_(limits) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& ec) { return open(Json::object(), ec); }
  bool on_object_end(std::size_t, error_code& ec) {
    if (has_duplicate_key(*open_.back().value.if_object())) return stop(JsonFault::duplicate_key, ec);
    return close(ec);
  }
  bool on_array_begin(error_code& ec) { return open(Json::array(), ec); }
  bool on_array_end(std::size_t, error_code& ec) { return close(ec); }
  bool on_key_part(Text part, std::size_t, error_code&) { return text_.append(part.data(), part.size()), true; }
  bool on_key(Text part, std::size_t, error_code& ec) {
    text_.append(part.data(), part.size());
    if (text_.find('\0') != std::string::npos) return stop(JsonFault::nul_not_allowed, ec);
    open_.back().key = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(Text part, std::size_t, error_code&) { return text_.append(part.data(), part.size()), true; }
  bool on_string(Text part, std::size_t, error_code& ec) {
    text_.append(part.data(), part.size());
    if (text_.find('\0') != std::string::npos) return stop(JsonFault::nul_not_allowed, ec);
    return add(Json::string(std::exchange(text_, {})), ec);
  }
  bool on_number_part(Text part, error_code&) { return text_.append(part.data(), part.size()), true; }
  bool on_int64(std::int64_t, Text part, error_code& ec) { return number(part, ec); }
  bool on_uint64(std::uint64_t, Text part, error_code& ec) { return number(part, ec); }
  bool on_double(double, Text part, error_code& ec) { return number(part, ec); }
  bool on_bool(bool value, error_code& ec) { return add(Json::boolean(value), ec); }
  bool on_null(error_code& ec) { return add(Json(), ec); }
  bool on_comment_part(Text, error_code&) { return true; }
  bool on_comment(Text, error_code&) { return true; }

  JsonFault fault() const { return fault_; }
  Json take() { return std::move(root_); }

 private:
  struct Open {
    Json value;
    std::string key;
  };

  bool number(Text part, error_code& ec) {
    text_.append(part.data(), part.size());
    return add(Json::number_text(std::exchange(text_, {})), ec);
  }
  bool open(Json value, error_code& ec) {
    if (open_.size() >= limits_.depth) return stop(JsonFault::too_deep, ec);
    if (++nodes_ > limits_.nodes) return stop(JsonFault::too_many_nodes, ec);
    open_.push_back({std::move(value), {}});
    return true;
  }
  bool close(error_code& ec) {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    --nodes_;  // counted when it was opened
    return add(std::move(value), ec);
  }
  bool add(Json value, error_code& ec) {
    if (++nodes_ > limits_.nodes) return stop(JsonFault::too_many_nodes, ec);
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* object = open_.back().value.if_object()) {
      object->emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().value.if_array()->push_back(std::move(value));
    }
    return true;
  }
  bool stop(JsonFault fault, error_code& ec) {
    fault_ = fault;
    ec = boost::json::error::syntax;
    return false;
  }
  static bool has_duplicate_key(const Json::Object& object) {
    // Sorted: to compare each key with each other key would take a second for ten thousand keys.
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const auto& member : object) keys.push_back(member.first);
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
  }

  JsonLimits limits_;
  JsonFault fault_ = JsonFault::malformed;
  std::vector<Open> open_;
  std::string text_;
  Json root_;
  std::size_t nodes_ = 0;
};

void write(JsonWriter& out, const Json& value) {
  if (const auto* boolean = value.if_boolean()) {
    out.boolean(*boolean);
  } else if (const auto* number = value.if_number()) {
    out.raw(number->text);
  } else if (const auto* string = value.if_string()) {
    out.string(*string);
  } else if (const auto* array = value.if_array()) {
    out.begin_array();
    for (const Json& item : *array) write(out, item);
    out.end_array();
  } else if (const auto* object = value.if_object()) {
    out.begin_object();
    for (const auto& [key, member] : *object) {
      out.key(key);
      write(out, member);
    }
    out.end_object();
  } else {
    out.null();
  }
}

}  // namespace

std::optional<std::int64_t> Json::integer() const {
  const auto* number = if_number();
  return number ? parse_signed(number->text) : std::nullopt;
}

std::optional<double> Json::real() const {
  const auto* number = if_number();
  if (!number) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(number->text.data(), number->text.data() + number->text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

const Json* Json::find(std::string_view key) const {
  const auto* object = if_object();
  if (!object) return nullptr;
  for (const auto& member : *object) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

std::string Json::text(std::string_view key) const {
  const auto* value = find(key);
  return value && value->if_string() ? *value->if_string() : std::string();
}

std::int64_t Json::whole(std::string_view key) const {
  const auto* value = find(key);
  return value ? value->integer().value_or(0) : 0;
}

bool Json::flag(std::string_view key) const {
  const auto* value = find(key);
  return value && value->if_boolean() && *value->if_boolean();
}

const Json::Array& Json::items(std::string_view key) const {
  static const Array kNone;
  const auto* value = find(key);
  return value && value->if_array() ? *value->if_array() : kNone;
}

void Json::set(std::string_view key, Json value) {
  if (is_null()) *this = object();
  if (Json* present = find(key)) {
    *present = std::move(value);
  } else {
    if_object()->emplace_back(key, std::move(value));
  }
}

void Json::erase(std::string_view key) {
  if (auto* object = if_object()) std::erase_if(*object, [&](const Member& member) { return member.first == key; });
}

std::string Json::dump() const {
  JsonWriter out;
  write(out, *this);
  return out.take();
}

boost::system::result<Json, JsonFault> parse_json(std::string_view text, JsonLimits limits) {
  boost::json::parse_options options;
  options.max_depth = limits.depth + 1;  // our own check comes first, with its own fault name
  boost::json::basic_parser<Builder> parser(options, limits);
  error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (ec) return parser.handler().fault();
  if (text.find_first_not_of(" \t\r\n", read) != std::string_view::npos) return JsonFault::malformed;
  return parser.handler().take();
}

void throw_exception_from_error(const JsonFault&, const boost::source_location&) {
  throw std::logic_error("unchecked JSON fault");
}

}  // namespace restante
