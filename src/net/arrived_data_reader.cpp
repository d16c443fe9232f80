#include "net/arrived_data_reader.h"

#include <fcntl.h>
#include <sys/socket.h>

namespace restante::net {

ArrivedDataReader::ArrivedDataReader(Socket& socket) {
  if (!socket.secure()) socket_ = Fd(::fcntl(socket.lowest().native_handle(), F_DUPFD_CLOEXEC, 0));
}

std::size_t ArrivedDataReader::read_now(char* data, std::size_t size) {
  if (!socket_) return 0;
  const ssize_t n = ::recv(socket_.get(), data, size, MSG_DONTWAIT);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace restante::net
