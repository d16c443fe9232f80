// Shared by the tests of net/. TestEdge is a real Edge on a free loopback port whose router the test fills. Client is a
// blocking socket for raw HTTP. Gate is what one thread waits for and another one opens. Every wait ends at kCeiling,
// far beyond what a working server needs: to reach it is a failure, never a measurement.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "net/edge.h"

namespace restante::net {

constexpr auto kCeiling = std::chrono::seconds(60);
constexpr auto kNever = std::chrono::minutes(30);

class Gate {
 public:
  // Each open() lets one wait() through.
  void open() {
    const std::lock_guard lock(mutex_);
    ++opened_;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kCeiling, [this] { return opened_ > passed_; })) {
      ++passed_;
    } else {
      ADD_FAILURE() << "the gate was not opened";
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int opened_ = 0;
  int passed_ = 0;
};

// Opens its gate when the last copy is destroyed: the test learns that the server has released an object.
inline std::shared_ptr<void> open_when_released(Gate& gate) {
  return {nullptr, [&gate](void*) { gate.open(); }};
}

struct Reply {
  int status = 0;
  std::string head;
  std::string body;

  std::string header(std::string_view name) const {
    for (const std::string_view line : split(head, '\n')) {
      const auto colon = line.find(':');
      if (colon != std::string_view::npos && equal_ignoring_case(line.substr(0, colon), name)) {
        std::string_view value = line.substr(colon + 1);
        if (value.ends_with('\r')) value.remove_suffix(1);
        return std::string(trim(value));
      }
    }
    return {};
  }
};

class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval ceiling{std::chrono::seconds(kCeiling).count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &ceiling, sizeof ceiling);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &ceiling, sizeof ceiling);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { close(); }
  Client(Client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), pending_(std::move(other.pending_)) {}
  Client& operator=(Client&&) = delete;

  bool connected() const { return connected_; }
  // False when the server has closed: some tests expect that.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Sends until the kernel has accepted nothing for that long: this is how much a server that does not read lets a
  // client send. A server that has answered reads and discards the rest: that does not count.
  std::size_t send_until_full(std::size_t most, std::chrono::milliseconds quiet = std::chrono::milliseconds(500)) {
    const std::string bytes(64 << 10, 'x');
    std::size_t sent = 0;
    while (sent < most) {
      pollfd room{fd_, POLLIN | POLLOUT, 0};
      if (::poll(&room, 1, static_cast<int>(quiet.count())) == 0 || room.revents != POLLOUT) break;
      const ssize_t n = ::send(fd_, bytes.data(), std::min(bytes.size(), most - sent), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += static_cast<std::size_t>(n);
    }
    return sent;
  }
  bool get(std::string_view path, std::string_view headers = "") {
    return send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n");
  }
  bool post(std::string_view path, std::string_view body) {
    return send("POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }

  // The answer to one request, on this connection.
  Reply ask(std::string_view path, std::string_view headers = "") {
    get(path, headers);
    return reply();
  }
  // Head and, unless it is a HEAD's, body: sized, chunked, or until the end.
  Reply reply(bool has_body = true) {
    Reply reply;
    reply.head = read_through("\r\n\r\n");
    if (reply.head.size() < 12) return reply;
    reply.status = std::stoi(reply.head.substr(9, 3));
    if (!has_body || reply.status == 204 || reply.status == 304 || reply.status < 200) return reply;
    if (const auto length = reply.header("Content-Length"); !length.empty()) {
      reply.body = read(std::stoul(length));
    } else if (reply.header("Transfer-Encoding") == "chunked") {
      for (std::string piece = chunk(); !piece.empty(); piece = chunk()) reply.body += piece;
    } else {
      while (receive()) {
      }
      reply.body = std::exchange(pending_, {});
    }
    return reply;
  }
  // The data of the next chunk; empty for the last one.
  std::string chunk() {
    const std::string size = read_through("\r\n");
    if (size.empty()) return {};
    std::string data = read(std::stoul(size, nullptr, 16));
    EXPECT_EQ(read(2), "\r\n");
    return data;
  }
  // Everything up to and including `mark`; less when the server closes before.
  std::string read_through(std::string_view mark) {
    std::size_t at = 0;
    while ((at = pending_.find(mark)) == std::string::npos) {
      if (!receive()) return std::exchange(pending_, {});
    }
    return take(at + mark.size());
  }
  std::string read(std::size_t size) {
    while (pending_.size() < size && receive()) {
    }
    return take(std::min(size, pending_.size()));
  }
  // True when the server has closed and nothing is left to read.
  bool at_end() { return pending_.empty() && !receive() && !timed_out_; }

  void finish_sending() { ::shutdown(fd_, SHUT_WR); }
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  std::string take(std::size_t size) {
    std::string taken = pending_.substr(0, size);
    pending_.erase(0, size);
    return taken;
  }
  bool receive() {
    char piece[16 << 10];
    const ssize_t n = ::recv(fd_, piece, sizeof piece, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      timed_out_ = true;
      ADD_FAILURE() << "the server neither answered nor closed";
    }
    if (n <= 0) return false;
    pending_.append(piece, static_cast<std::size_t>(n));
    return true;
  }

  int fd_;
  bool connected_ = false;
  bool timed_out_ = false;
  std::string pending_;
};

// The answer to a request that was refused before its end: the server closes the connection after it.
inline void expect_last_answer(Client& client, int status, std::string_view body) {
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, status);
  EXPECT_EQ(reply.body, body);
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(client.at_end());
}

// Long timeouts everywhere, so that only the ones that a test shortens can run out.
inline Options test_options() {
  Options options;
  options.listen = {{"127.0.0.1", 0}};
  options.io_threads = 2;
  options.pool_threads = 4;
  options.log_requests = LogRequests::none;
  options.timeouts = {kCeiling, kCeiling, kCeiling, kCeiling, kCeiling, kCeiling, std::chrono::milliseconds(80)};
  return options;
}

class TestEdge {
 public:
  explicit TestEdge(Options options = test_options())
      : log_file_(::memfd_create("log", MFD_CLOEXEC)), edge(std::move(options), clock_, *log_, metrics) {}
  ~TestEdge() {
    edge.stop();
    log_.reset();
    ::close(log_file_);
  }

  using Handler = std::function<http::Response(http::Request&)>;
  void get(std::string pattern, Handler handler, http::Run run = http::Run::on_pool) {
    http::Route route;
    route.pattern = std::move(pattern);
    route.run = run;
    route.handle = std::move(handler);
    router.add(std::move(route));
  }
  void post(std::string pattern, http::Body body, Handler handler) {
    http::Route route;
    route.method = http::Method::post;
    route.pattern = std::move(pattern);
    route.body = body;
    route.handle = std::move(handler);
    router.add(std::move(route));
  }
  void stream(std::string pattern, std::function<http::BodyHandling(http::Request&)> receive) {
    http::Route route;
    route.method = http::Method::post;
    route.pattern = std::move(pattern);
    route.body = http::Body::stream;
    route.receive = std::move(receive);
    router.add(std::move(route));
  }
  void start() { edge.start(router); }
  std::uint16_t port() const {
    const std::string address = edge.addresses().front();
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  std::string url(std::string_view path) const { return edge.addresses().front() + std::string(path); }
  Client client() const { return Client(port()); }
  Reply ask(std::string_view path, std::string_view headers = "") { return client().ask(path, headers); }
  void ring(std::string_view topic) { edge.bell().ring(topic); }
  // All log lines; stops the edge and the log, so call it last.
  std::string logged() {
    edge.stop();
    log_.reset();
    std::string text(static_cast<std::size_t>(::lseek(log_file_, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(log_file_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  SystemClock clock_;
  int log_file_;
  std::optional<Log> log_{std::in_place, log_file_, LogLevel::debug, clock_};

 public:
  Metrics metrics{BuildInfo{"test", "test", "test"}};
  http::Router router;
  Edge edge;
};

inline http::Response text(std::string body, int status = 200) {
  http::Response response;
  response.status = status;
  response.content_type = "text/plain";
  response.content = std::move(body);
  return response;
}

}  // namespace restante::net
