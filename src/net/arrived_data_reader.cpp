#include "net/arrived_data_reader.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace restante::net {

ArrivedDataReader::ArrivedDataReader(Socket& socket) {
  if (!socket.secure()) fd_ = ::fcntl(socket.lowest().native_handle(), F_DUPFD_CLOEXEC, 0);
}

ArrivedDataReader::~ArrivedDataReader() {
  if (fd_ >= 0) ::close(fd_);
}

std::size_t ArrivedDataReader::read_now(char* data, std::size_t size) {
  if (fd_ < 0) return 0;
  const ssize_t n = ::recv(fd_, data, size, MSG_DONTWAIT);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace restante::net
