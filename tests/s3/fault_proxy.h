// FaultProxy: a proxy between an S3 client and the real server, for one connection after the other. It forwards
// requests. A fault is applied to the first request that matches it, and then removed. The first line of each request
// is kept for count().
#pragma once
#include <arpa/inet.h>

#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "client/test_server.h"
#include "client/url.h"
#include "s3_server.h"

namespace restante::testing {

class FaultProxy {
 public:
  struct Fault {
    std::string request;  // applies to a request whose first line begins with this
    // Answers instead of the server, or changes the server's answer; false ends the connection.
    std::function<bool(client::TestConnection&, const std::string& request, FaultProxy&)> act;
  };

  FaultProxy()
      : server_(std::vector<client::TestServer::Script>(256, [this](client::TestConnection& peer) { serve(peer); })) {}

  std::string url() const { return server_.url(); }
  void add(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(fault));
  }
  // Cuts the connection of the next request that begins with `beginning`, after `after` bytes of the request.
  void cut(std::string beginning, std::size_t after) {
    const std::lock_guard lock(mutex_);
    cuts_.push_back({std::move(beginning), after});
  }
  // How many requests began with `beginning`.
  long count(const std::string& beginning) const {
    const std::lock_guard lock(mutex_);
    return std::count_if(lines_.begin(), lines_.end(), [&](const auto& line) { return line.starts_with(beginning); });
  }
  bool faults_are_used_up() const {
    const std::lock_guard lock(mutex_);
    return faults_.empty() && cuts_.empty();
  }

  // The real server's whole answer.
  std::string forward(std::string request) const {
    const auto real = client::parse_url(s3_server().endpoint).value();
    request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(real.port);
    std::string answer;
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      for (std::size_t sent = 0; sent < request.size();) {
        const auto bytes = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (bytes <= 0) break;
        sent += static_cast<std::size_t>(bytes);
      }
      char piece[65536];
      for (ssize_t bytes = 0; (bytes = recv(fd, piece, sizeof piece, 0)) > 0;)
        answer.append(piece, static_cast<std::size_t>(bytes));
    }
    ::close(fd);
    return answer;
  }

 private:
  void serve(client::TestConnection& peer) {
    for (;;) {
      if (is_cut(peer)) return peer.reset_on_close();
      const auto request = peer.read_request();
      if (request.empty()) return;
      auto fault = take_fault(request);
      if (fault ? !(*fault)(peer, request, *this) : !pass(peer, request)) return;
    }
  }

  // Peeks at the request. Reads from it only if it must be cut.
  bool is_cut(client::TestConnection& peer) {
    char head[256] = {};
    if (recv(peer.descriptor(), head, sizeof head - 1, MSG_PEEK) <= 0) return false;
    std::size_t left = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto at = std::find_if(cuts_.begin(), cuts_.end(),
                                   [&](const auto& cut) { return std::string_view(head).starts_with(cut.beginning); });
      if (at == cuts_.end()) return false;
      left = at->after;
      cuts_.erase(at);
    }
    char piece[4096];
    while (left > 0) {
      const auto bytes = recv(peer.descriptor(), piece, std::min(left, sizeof piece), 0);
      if (bytes <= 0) break;
      left -= static_cast<std::size_t>(bytes);
    }
    return true;
  }

  bool pass(client::TestConnection& peer, const std::string& request) const {
    const auto answer = forward(request);
    peer.send(answer);
    // The request had "Connection: close", so the answer has it too.
    return false;
  }

  std::optional<decltype(Fault::act)> take_fault(const std::string& request) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(request.substr(0, request.find("\r\n")));
    const auto at = std::find_if(faults_.begin(), faults_.end(),
                                 [&](const auto& fault) { return request.starts_with(fault.request); });
    if (at == faults_.end()) return std::nullopt;
    auto act = std::move(at->act);
    faults_.erase(at);
    return act;
  }

  struct Cut {
    std::string beginning;
    std::size_t after;
  };

  mutable std::mutex mutex_;
  std::list<Cut> cuts_;
  std::list<Fault> faults_;
  std::vector<std::string> lines_;
  client::TestServer server_;
};

}  // namespace restante::testing
