// Client: one keep-alive connection to a server on this machine, driven by a Poller. Requests are given as bytes and
// may be pipelined; every complete answer is handed to on_reply, in order. A server that closes or answers nonsense
// throws std::runtime_error: a benchmark that went wrong must not print figures. Poller and its clients belong to one
// thread.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/reply.h"

namespace loadgen {

class Client;

class Poller {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Serves what is ready, waiting up to `milliseconds` for the first of it.
  void run_once(int milliseconds);
  // Serves until `done` says so; throws after `seconds` without it.
  void run_until(const std::function<bool()>& done, double seconds);

 private:
  friend class Client;
  int fd_;
  std::vector<char> room_;  // all clients read into it, one after the other
};

class Client {
 public:
  // `number` spreads many clients over loopback source addresses, so that neither ports nor a cap per address run out.
  Client(Poller& poller, std::uint16_t port, std::size_t number = 0);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view request);
  // `shared` is sent from where it lies and must stay there until the answer has come.
  void send(std::string head, std::string_view shared, std::string tail);
  std::function<void(const Reply&)> on_reply;
  // What the next answer's body is held against while it comes in.
  void expect(const Content* content, std::uint64_t size) { reply_.expect(content, size); }

 private:
  friend class Poller;
  void ready(std::uint32_t events);
  void read();
  void flush();
  void watch(std::uint32_t events, int operation);

  // Bytes on their way: its own, or somebody else's.
  struct Piece {
    std::string own;
    std::string_view shared;
    std::size_t sent = 0;
    std::string_view left() const { return (shared.empty() ? std::string_view(own) : shared).substr(sent); }
  };
  bool write_out();

  Poller& poller_;
  int fd_ = -1;
  std::deque<Piece> unsent_;
  Reply reply_;
};

using Clients = std::vector<std::unique_ptr<Client>>;

// Opens `count` clients, each of which has had one answer to `request`: the server has accepted and served all of them.
Clients open_clients(Poller& poller, std::uint16_t port, std::size_t count, std::string_view request);

// Raises the limit of open files to what is allowed; throws with a sentence when that is below `wanted`.
void allow_open_files(std::size_t wanted);

double now();  // seconds, monotonic

}  // namespace loadgen
