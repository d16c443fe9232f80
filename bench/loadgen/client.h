// Client: one keep-alive connection to a server on this machine, driven by a Poller. Requests are given as bytes and
// may be pipelined; on_reply gets every complete answer, in order. If the server closes or sends an invalid answer, it
// throws std::runtime_error: a failed benchmark must not print figures. Poller and its clients belong to one thread.
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

  // Handles all ready events; waits up to `milliseconds` for the first one.
  void run_once(int milliseconds);
  // Handles events until `done` returns true; throws after `seconds`.
  void run_until(const std::function<bool()>& done, double seconds);

 private:
  friend class Client;
  int fd_;
  std::vector<char> room_;  // all clients read into it, one after the other
};

class Client {
 public:
  // `number` distributes many clients over loopback source addresses, because ports and a limit per address would run
  // out.
  Client(Poller& poller, std::uint16_t port, std::size_t number = 0);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view request);
  // `shared` is not copied: it must stay valid until the answer has arrived.
  void send(std::string head, std::string_view shared, std::string tail);
  std::function<void(const Reply&)> on_reply;
  // Compares the next answer's body with this content while it arrives.
  void expect(const Content* content, std::uint64_t size) { reply_.expect(content, size); }

 private:
  friend class Poller;
  void ready(std::uint32_t events);
  void read();
  void flush();
  void watch(std::uint32_t events, int operation);

  // Bytes to send: owned by this piece, or a view of shared bytes.
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

// Opens `count` clients. Each has got one answer to `request`, so the server has accepted and served all of them.
Clients open_clients(Poller& poller, std::uint16_t port, std::size_t count, std::string_view request);

// Raises the limit of open files as far as allowed; throws with a sentence when that is below `wanted`.
void allow_open_files(std::size_t wanted);

double now();  // seconds, monotonic

}  // namespace loadgen
