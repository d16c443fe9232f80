#include "cli/server/address.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;

std::string file_in(const std::string& data) { return (fs::path(data) / "address").string(); }

}  // namespace

AddressNote::AddressNote(const std::string& data, const std::string& address, const std::string& public_url)
    : data_(data),
      file_(file_in(data)),
      address_(address.starts_with("https:") && !public_url.empty() ? public_url : local_address(address)) {
  const std::string temporary = file_ + "." + std::to_string(::getpid());
  std::ofstream out(temporary);
  out << address_ << '\n';
  out.close();
  // The server works without it.
  std::error_code ignored;
  if (out) fs::rename(temporary, file_, ignored);
}

AddressNote::~AddressNote() {
  std::error_code ignored;
  if (noted_address(data_) == address_) fs::remove(file_, ignored);
}

std::string local_address(const std::string& address) {
  std::string local = address;
  for (const auto& [any, loopback] : {std::pair("//0.0.0.0:", "//127.0.0.1:"), std::pair("//[::]:", "//[::1]:")}) {
    if (const auto at = local.find(any); at != std::string::npos)
      local.replace(at, std::string_view(any).size(), loopback);
  }
  return local;
}

std::optional<std::string> noted_address(const std::string& data) {
  std::ifstream in(file_in(data));
  std::string line;
  if (!std::getline(in, line) || trim(line).empty()) return {};
  return std::string(trim(line));
}

}  // namespace restante::cli
