// Listener accepts connections on one address and gives each to the I/O thread with the fewest. Runs on the first I/O
// thread. Refuses connections beyond the limits; when descriptors run out it closes an idle connection and waits a
// moment.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <boost/asio.hpp>

#include "base/fd.h"
#include "net/io_thread.h"

namespace restante::net {

class Listener {
 public:
  // Binds; throws std::runtime_error with a sentence that names the address.
  Listener(const Endpoint& endpoint, Shared& shared, std::vector<std::unique_ptr<IoThread>>& threads);

  void start();
  // From any thread: no more connections are accepted.
  void stop();
  // http://127.0.0.1:8080 with the port that was bound.
  std::string address() const;

 private:
  // Waits for the next connection, on the first I/O thread. No coroutine: one is lost when there is no memory to begin
  // its next operation.
  void accept();
  void accept_waiting();
  void pause(const boost::system::error_code& failure, IoThread& thread);
  void start_connection(Fd client, IoThread& thread);
  void admit(tcp::socket socket, IoThread& thread);
  // Asks one thread after the other to close an idle connection, so that the new one has room.
  void make_room(std::shared_ptr<tcp::socket> socket, IoThread& thread, std::string address, std::string key,
                 std::size_t next_thread);
  IoThread& least_loaded();

  Shared& shared_;
  std::vector<std::unique_ptr<IoThread>>& threads_;
  tcp::acceptor acceptor_;
  tcp protocol_ = tcp::v4();
  asio::steady_timer pause_;
  std::atomic<bool> stopped_{false};
};

}  // namespace restante::net
