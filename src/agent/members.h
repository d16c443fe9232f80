// Reads members of a JSON object that another program wrote: a missing member, or one of another type, reads as empty.
// Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace restante::agent {

inline std::string text_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value && value->if_string() ? *value->if_string() : std::string();
}

inline std::int64_t number_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value ? value->integer().value_or(0) : 0;
}

inline bool flag_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value && value->if_boolean() && *value->if_boolean();
}

inline const Json::Array& list_of(const Json& object, std::string_view key) {
  static const Json::Array empty;
  const auto* value = object.find(key);
  return value && value->if_array() ? *value->if_array() : empty;
}

}  // namespace restante::agent
