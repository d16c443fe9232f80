// Promises: a stored name has 1 to 100 plain characters and is never a path; a stored media type is empty or one short
// type/subtype from the input, or octet-stream. Both are fixed points: storing them again changes nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/oracle.h"
#include "model/upload_names.h"

namespace {

using namespace restante;

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

void check_filename(std::string_view raw) {
  const std::string name = sanitise_filename(raw);
  ORACLE(!name.empty() && name.size() <= 100 && name != "." && name != "..");
  ORACLE(name.find_first_not_of(kPlain) == std::string::npos);
  ORACLE(sanitise_filename(name) == name);
  ORACLE(sanitise_filename("dir/" + std::string(raw)) == name && sanitise_filename("..\\" + std::string(raw)) == name);
  const std::string_view last = raw.substr(raw.find_last_of("/\\") + 1);
  ORACLE(name == "file" || name.size() <= last.size());
  const bool plain = last.find_first_not_of(kPlain) == std::string_view::npos;
  if (plain && !last.empty() && last.size() <= 100 && last != "." && last != "..") ORACLE(name == last);
  if (name.size() == 100) return;
  const auto kept = std::ranges::count_if(last, [](char c) { return kPlain.find(c) != std::string_view::npos; });
  const auto replaced = static_cast<std::size_t>(std::ranges::count(name, '_'));
  ORACLE(name == "file" || static_cast<std::size_t>(kept) <= name.size());
  ORACLE(plain || name == "file" || replaced > 0);
}

void check_media_type(std::string_view raw) {
  const std::string type = normalise_media_type(raw);
  ORACLE(normalise_media_type(type) == type);
  ORACLE(normalise_media_type(" " + std::string(raw)) == type);
  if (type.empty()) return;
  ORACLE(type.size() <= 127 && std::ranges::count(type, '/') == 1 && type.front() != '/' && type.back() != '/');
  ORACLE(std::ranges::all_of(type, [](char c) { return c > ' ' && c < 0x7F; }));
  ORACLE(type.find_first_of(";,\"\\<>*") == std::string::npos);
  ORACLE(type == "application/octet-stream" || raw.find(type) != std::string_view::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_filename(input);
  check_media_type(input);
  return 0;
}
