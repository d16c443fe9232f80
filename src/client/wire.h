// Wire: one connection, plain or TLS, blocking with a deadline for each operation; the loop's cancel() ends it. It is a
// SyncStream in Beast's sense, so that one instantiation parses HTTP for both. Belongs to one thread. Only client/*.cpp
// include this file.
#pragma once
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/system_error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/failure.h"
#include "client/loop.h"
#include "client/url.h"

namespace restante::client {

class Wire {
 public:
  using error_code = boost::system::error_code;
  using Socket = boost::asio::ip::tcp::socket;

  explicit Wire(std::shared_ptr<Loop> loop) : loop_(std::move(loop)), socket_(loop_->context()) {}

  Outcome<void> connect(const Url& peer, Deadline deadline);
  // Verifies the chain, and that it was issued to the server's host, also through a proxy.
  Outcome<void> start_tls(std::shared_ptr<boost::asio::ssl::context> trust, const Url& server, Deadline deadline);

  // From here on no single read or write may take longer than `idle`, and none may continue past `total`.
  void set_timeouts(std::chrono::milliseconds idle, std::optional<Deadline> total) { idle_ = idle, total_ = total; }
  // Whether an idle connection was closed by the other side, or has received bytes without a request.
  bool is_stale();

  // Errors: timed_out, operation_aborted after cancel(), eof, or the system's.
  std::size_t read_some(boost::asio::mutable_buffer into, error_code& error);
  std::size_t write_some(boost::asio::const_buffer from, error_code& error);

  // Required by Beast.
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& error) {
    for (auto at = boost::asio::buffer_sequence_begin(buffers); at != boost::asio::buffer_sequence_end(buffers); ++at) {
      const boost::asio::mutable_buffer buffer = *at;
      if (buffer.size() > 0) return read_some(buffer, error);
    }
    error = {};
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    error_code error;
    const auto bytes = read_some(buffers, error);
    if (error) throw boost::system::system_error(error);
    return bytes;
  }

 private:
  Deadline operation_deadline() const;
  // Starts an operation with a handler (error, bytes) and waits for it.
  template <class Start>
  std::size_t perform(Deadline deadline, error_code& error, Start start);

  std::shared_ptr<Loop> loop_;
  std::shared_ptr<boost::asio::ssl::context> trust_;
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  std::chrono::milliseconds idle_{30'000};
  std::optional<Deadline> total_;
};

// A name look-up that can be abandoned. getaddrinfo cannot be interrupted and may hang for half a minute on a laptop
// that has just woken up. So it runs on its own thread, which continues alone after the caller has stopped waiting.
// Gives at least one endpoint, in the system's order of preference.
Outcome<std::vector<boost::asio::ip::tcp::endpoint>> resolve(const std::shared_ptr<Loop>& loop, const std::string& host,
                                                             std::uint16_t port, Deadline deadline);  // resolve.cpp

}  // namespace restante::client
