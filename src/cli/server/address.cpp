#include "cli/server/address.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

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
  locked_ = Fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  // The server works without it.
  std::error_code ignored;
  if (locked_ && ::flock(locked_.get(), LOCK_EX | LOCK_NB) == 0 && write_all(locked_.get(), address_ + '\n'))
    fs::rename(temporary, file_, ignored);
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
  const Fd file(::open(file_in(data).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || !is_regular_file(file.get())) return {};
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return {};  // no server has it locked
  std::array<char, 1024> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  const std::string_view all(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::string_view address = trim(all.substr(0, all.find('\n')));
  if (address.empty()) return {};
  return std::string(address);
}

}  // namespace restante::cli
