#include "loadgen/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace loadgen {
namespace {

constexpr std::size_t kPerSource = 8000;  // well below the usual 28 000 ephemeral ports of one address
constexpr std::size_t kOpening = 128;     // at once: below every server's accept backlog
constexpr std::size_t kOwnFiles = 64;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::system_category(), what); }

sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
  address.sin_port = htons(port);
  return address;
}

int dial(std::uint16_t port, std::size_t number) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  const int on = 1;
  // connect() chooses the port, which then only has to be unused for this server.
  ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  const sockaddr_in from = loopback(static_cast<std::uint32_t>(number / kPerSource), 0);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) != 0) fail("bind");
  const sockaddr_in to = loopback(0, port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) fail("connect");
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

}  // namespace

Poller::Poller() : fd_(::epoll_create1(EPOLL_CLOEXEC)), room_(256 << 10) {
  if (fd_ < 0) fail("epoll_create1");
}

Poller::~Poller() { ::close(fd_); }

void Poller::run_once(int milliseconds) {
  std::array<epoll_event, 128> events;
  const int count = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), milliseconds);
  if (count < 0 && errno != EINTR) fail("epoll_wait");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    static_cast<Client*>(event.data.ptr)->ready(event.events);
  }
}

void Poller::run_until(const std::function<bool()>& done, double seconds) {
  const double end = now() + seconds;
  while (!done()) {
    if (now() > end) throw std::runtime_error(fmt::format("the server did not answer within {} s", seconds));
    run_once(100);
  }
}

Client::Client(Poller& poller, std::uint16_t port, std::size_t number) : poller_(poller), fd_(dial(port, number)) {
  watch(EPOLLIN, EPOLL_CTL_ADD);
}

Client::~Client() { ::close(fd_); }

void Client::watch(std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = this;
  if (::epoll_ctl(poller_.fd_, operation, fd_, &event) != 0) fail("epoll_ctl");
}

void Client::send(std::string_view request) {
  if (unsent_.empty()) {
    const ssize_t sent = ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) fail("send");
    if (sent > 0) request.remove_prefix(static_cast<std::size_t>(sent));
    if (request.empty()) return;
    watch(EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
  }
  unsent_.push_back({std::string(request), {}});
}

void Client::send(std::string head, std::string_view shared, std::string tail) {
  const bool busy = !unsent_.empty();
  unsent_.push_back({std::move(head), {}});
  if (!shared.empty()) unsent_.push_back({{}, shared});
  if (!tail.empty()) unsent_.push_back({std::move(tail), {}});
  if (!busy && !write_out()) watch(EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
}

// True when everything is written.
bool Client::write_out() {
  while (!unsent_.empty()) {
    std::array<iovec, 3> parts{};
    std::size_t count = 0;
    std::size_t wanted = 0;
    for (; count < std::min(parts.size(), unsent_.size()); ++count) {
      const std::string_view left = unsent_[count].left();
      parts[count] = {const_cast<char*>(left.data()), left.size()};
      wanted += left.size();
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) fail("sendmsg");
    auto left = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    const bool whole = left == wanted;
    while (!unsent_.empty() && left >= unsent_.front().left().size()) {
      left -= unsent_.front().left().size();
      unsent_.pop_front();
    }
    if (!unsent_.empty()) unsent_.front().sent += left;
    if (!whole) return false;
  }
  return true;
}

void Client::flush() {
  if (write_out()) watch(EPOLLIN, EPOLL_CTL_MOD);
}

void Client::ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
}

void Client::read() {
  const ssize_t got = ::recv(fd_, poller_.room_.data(), poller_.room_.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got < 0) fail("recv");
  if (got == 0) throw std::runtime_error("the server closed a connection");
  std::string_view bytes(poller_.room_.data(), static_cast<std::size_t>(got));
  while (!bytes.empty()) {
    bytes.remove_prefix(reply_.take(bytes));
    if (!reply_.complete()) continue;
    if (on_reply) on_reply(reply_);
    reply_.reset();
  }
}

Clients open_clients(Poller& poller, std::uint16_t port, std::size_t count, std::string_view request) {
  Clients clients;
  std::size_t answered = 0;
  while (clients.size() < count) {
    auto& client = clients.emplace_back(std::make_unique<Client>(poller, port, clients.size()));
    client->on_reply = [&answered](const Reply& reply) {
      if (reply.status() != 200) throw std::runtime_error(fmt::format("status {}", reply.status()));
      ++answered;
    };
    client->send(request);
    const std::size_t wanted = clients.size() == count ? count : clients.size() - std::min(clients.size(), kOpening);
    poller.run_until([&] { return answered >= wanted; }, 30);
  }
  for (auto& client : clients) client->on_reply = nullptr;
  return clients;
}

void allow_open_files(std::size_t wanted) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < wanted + kOwnFiles) {
    throw std::runtime_error(
        fmt::format("{} open files are needed, {} are allowed: raise ulimit -Hn", wanted + kOwnFiles, files.rlim_cur));
  }
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace loadgen
