// Socket: a client's connection, plain or TLS, one step at a time. Operations on plain sockets are first tried without
// suspending: most answers fit into the kernel's buffer, and then no coroutine has to suspend. Belongs to its
// connection and its I/O thread. Never throws; failures are error codes.
#pragma once
#include <array>
#include <memory>
#include <string_view>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>

namespace restante::net {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

class Socket {
 public:
  using ErrorCode = boost::system::error_code;
  using Pieces = std::array<std::string_view, 2>;

  Socket(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls);

  bool secure() const { return tls_ != nullptr; }
  tcp::socket& lowest() { return tls_ ? tls_->next_layer() : plain_; }

  asio::awaitable<ErrorCode> handshake();
  // Waits until there is something to read or the peer has closed. Plain sockets only: TLS buffers bytes itself.
  asio::awaitable<ErrorCode> readable();
  // 0 with no error is the end of the stream.
  asio::awaitable<std::size_t> read_some(char* data, std::size_t size, ErrorCode& ec);
  // Reads what is there now: 0 without an error means nothing yet, eof that the peer has finished. Plain sockets only.
  std::size_t read_now(char* data, std::size_t size, ErrorCode& ec);
  // Writes what the kernel accepts now, perhaps nothing; for TLS always nothing.
  std::size_t write_now(const Pieces& pieces, ErrorCode& ec);
  asio::awaitable<std::size_t> write_some(const Pieces& pieces, ErrorCode& ec);
  // Sends from a file; waits until at least some bytes were accepted. 0 without an error: the file is shorter than
  // promised. Plain sockets only: TLS sends bytes, and no file is read on this thread.
  asio::awaitable<std::size_t> send_file(int fd, std::uint64_t offset, std::uint64_t length, ErrorCode& ec);

  // Whether the peer has closed its side or reset the connection. Unread bytes do not hide it.
  bool peer_gone();
  void cancel();
  void close();
  // Ends the sending direction, so that the peer gets the last answer before the connection closes.
  void finish_sending();

 private:
  tcp::socket plain_;
  std::shared_ptr<asio::ssl::context> tls_context_;
  std::unique_ptr<asio::ssl::stream<tcp::socket>> tls_;  // on the heap: plain connections must not pay for it
};

}  // namespace restante::net
