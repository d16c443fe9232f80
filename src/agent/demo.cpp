#include "agent/delivery.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "agent/handover.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"

namespace restante::agent {
namespace {

constexpr JsonLimits kLimits{.depth = 80, .nodes = 1'000'000};

// Hashed again from the disk: the demo shows that the file has really arrived.
std::string line_for(const Json& file) {
  const auto name = file.text("name"), path = file.text("path");
  std::ifstream in(path, std::ios::binary);
  if (path.empty() || !in) return name + " — not here (" + file.text("state") + ")";
  Sha256 hash;
  std::int64_t size = 0;
  std::vector<char> piece(128 * 1024);
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    hash.update({piece.data(), static_cast<std::size_t>(in.gcount())});
    size += in.gcount();
  }
  const auto bytes = size < 1024 ? human_size(size) : fmt::format("{} ({} bytes)", human_size(size), size);
  return fmt::format("{} — {} — sha256 {}", name, bytes, to_hex(hash.finish()));
}

}  // namespace

std::string demo_reply_to(std::string_view delivery_json) {
  const auto delivery = parse_json(delivery_json, kLimits);
  if (delivery.has_error() || delivery->text("type").empty()) return {};
  std::string reply;
  for (const auto& file : delivery->items("files")) reply += line_for(file) + "\n";
  if (!reply.empty()) return reply;
  return "You said: " + delivery->text("text") + "\nSend me a file and I will tell you its name, size and sha256.\n";
}

int demo_reply() {
  const std::string input((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const auto reply = demo_reply_to(std::string_view(input).substr(0, input.find_last_not_of("\r\n") + 1));
  if (reply.empty()) {
    std::cerr << "restante: the demo agent reads one delivery of `restante connect --exec` on stdin\n";
    return 1;
  }
  std::cout << reply << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace restante::agent
