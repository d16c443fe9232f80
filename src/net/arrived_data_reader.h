// ArrivedDataReader is a second handle on a plain connection's socket. Another thread uses it to read data that has
// already arrived. It stays valid when the connection closes meanwhile. For a TLS connection, or when the system has no
// handle left, it reads nothing, and the connection reads itself. One reader at a time. Never throws.
#pragma once
#include <cstddef>

#include "base/fd.h"
#include "net/socket.h"

namespace restante::net {

class ArrivedDataReader {
 public:
  explicit ArrivedDataReader(Socket& socket);

  // Returns 0 when no data is there now, at the end, and after a failure; the connection's own read shows which.
  std::size_t read_now(char* data, std::size_t size);

 private:
  Fd socket_;
};

}  // namespace restante::net
