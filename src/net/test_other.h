// Other is a second server, for tests of requests that we send to one. It handles one connection after the other with
// the test's script, on its own thread.
#pragma once
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace restante::net {

class Other {
 public:
  using Script = std::function<void(Other&, int)>;

  explicit Other(Script script) : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(::pipe(ending_), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~Other() {
    ::close(ending_[1]);
    thread_.join();
    ::close(ending_[0]);
    ::close(listener_);
  }

  std::string url(std::string_view scheme = "http", std::string_view host = "127.0.0.1") const {
    return std::string(scheme) + "://" + std::string(host) + ":" + std::to_string(port_) + "/in";
  }
  int connections() const { return connections_; }
  // The request, head and body.
  std::string read_request(int fd) {
    std::string text;
    while (text.find("\r\n\r\n") == std::string::npos && receive(fd, text)) {
    }
    const auto body = text.find("\r\n\r\n") + 4;
    const auto length = text.find("Content-Length: ");
    const std::size_t wanted = length == std::string::npos ? 0 : std::stoul(text.substr(length + 16));
    while (text.size() < body + wanted && receive(fd, text)) {
    }
    return text;
  }
  // False once the reader has closed.
  bool send_bytes(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Waits until the other side closes.
  void wait_until_closed(int fd) {
    std::string ignored;
    while (receive(fd, ignored)) {
    }
  }
  // Waits until the test destroys it: a reader with a full buffer does not detect that the other side has closed.
  void wait_until_over() {
    pollfd entry{ending_[0], POLLIN, 0};
    ::poll(&entry, 1, -1);
  }
  // Whether the test destroys it within that time: for scripts that send slowly until then.
  bool is_over(std::chrono::milliseconds time) {
    pollfd entry{ending_[0], POLLIN, 0};
    return ::poll(&entry, 1, static_cast<int>(time.count())) > 0;
  }
  std::string request;  // read after the forward has come back

 private:
  static bool receive(int fd, std::string& text) {
    char piece[4096];
    const auto got = ::recv(fd, piece, sizeof piece, 0);
    if (got <= 0) return false;
    text.append(piece, static_cast<std::size_t>(got));
    return true;
  }
  void run() {
    for (;;) {
      pollfd entries[] = {{listener_, POLLIN, 0}, {ending_[0], POLLIN, 0}};
      ::poll(entries, 2, -1);
      if (!(entries[0].revents & POLLIN)) return;
      const int fd = ::accept(listener_, nullptr, nullptr);
      ++connections_;
      script_(*this, fd);
      ::close(fd);
    }
  }

  Script script_;
  const int listener_;
  int ending_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

inline Other::Script answering(std::string reply) {
  return [reply](Other& other, int fd) {
    other.request = other.read_request(fd);
    other.send_bytes(fd, reply);
  };
}

}  // namespace restante::net
