// TestServer is a real socket that behaves as badly as a test needs. Each connection is served by the next script, on
// one thread, in order; a script reads requests and sends any bytes. For tests of client/ and agent/ only.
#pragma once
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace restante::client {

// One accepted connection.
class TestConnection {
 public:
  explicit TestConnection(int fd) : fd_(fd) {}
  ~TestConnection() {
    if (ssl_) SSL_free(ssl_);
    ::close(fd_);
  }
  TestConnection(const TestConnection&) = delete;
  TestConnection& operator=(const TestConnection&) = delete;

  // False when the handshake failed.
  bool start_tls(SSL_CTX* context) {
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd_);
    return SSL_accept(ssl_) == 1;
  }

  // A request with its body (sized or chunked), as bytes; empty at the end of the connection.
  std::string read_request() {
    while (pending_.find("\r\n\r\n") == std::string::npos) {
      if (!receive()) return {};
    }
    const auto body_at = pending_.find("\r\n\r\n") + 4;
    const auto head = lower_case(pending_.substr(0, body_at));
    std::size_t end = body_at;
    if (const auto at = head.find("content-length: "); at != std::string::npos) {
      end += std::stoul(head.substr(at + 16));
      while (pending_.size() < end && receive()) {
      }
    } else if (head.find("transfer-encoding: chunked") != std::string::npos) {
      while ((end = pending_.find("0\r\n\r\n", body_at)) == std::string::npos && receive()) {
      }
      end = end == std::string::npos ? pending_.size() : end + 5;
    }
    auto request = pending_.substr(0, end);
    pending_.erase(0, end);
    return request;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // "HTTP/1.1 <status>", its length and the body.
  void answer(std::string_view status, std::string_view body, std::string_view headers = "") {
    send("HTTP/1.1 " + std::string(status) + "\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  // Waits for any bytes; their content does not matter.
  void receive_some() { static_cast<void>(receive()); }
  void wait_until_closed() {
    while (receive()) pending_.clear();
  }
  // The next close sends RST instead of FIN.
  void reset_on_close() {
    const linger hard{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  int descriptor() const { return fd_; }

 private:
  bool receive() {
    char piece[16384];
    const auto bytes = ssl_ ? SSL_read(ssl_, piece, sizeof piece) : recv(fd_, piece, sizeof piece, 0);
    if (bytes <= 0) return false;
    pending_.append(piece, static_cast<std::size_t>(bytes));
    return true;
  }

  int fd_;
  SSL* ssl_ = nullptr;
  std::string pending_;
};

class TestServer {
 public:
  using Script = std::function<void(TestConnection&)>;

  explicit TestServer(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(pipe(ending_), 0);
    thread_ = std::thread([this] { run(); });
  }
  // The client must be destroyed, or its connections closed: the destructor waits for a script that waits for the
  // client.
  ~TestServer() {
    ::close(ending_[1]);
    thread_.join();
    ::close(ending_[0]);
    ::close(listener_);
  }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // How many connections were accepted.
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return connections_;
  }

 private:
  void run() {
    for (const auto& script : scripts_) {
      pollfd entries[] = {{listener_, POLLIN, 0}, {ending_[0], POLLIN, 0}};
      while (poll(entries, 2, -1) < 0) {
      }
      if (!(entries[0].revents & POLLIN)) return;
      TestConnection peer(accept(listener_, nullptr, nullptr));
      {
        const std::lock_guard lock(mutex_);
        ++connections_;
      }
      script(peer);
    }
  }

  std::vector<Script> scripts_;
  int listener_ = -1;
  int ending_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::size_t connections_ = 0;
  std::thread thread_;
};

}  // namespace restante::client
