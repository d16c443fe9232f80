#include "net/inlet.h"

#include <gtest/gtest.h>

#include <string>

namespace restante::net {
namespace {

struct Pair {
  Pair() : here(context), there(context) {
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    there.connect(acceptor.local_endpoint());
    acceptor.accept(here);
  }
  void send(std::string_view text) { asio::write(there, asio::buffer(text)); }
  static void await_bytes(tcp::socket& socket) { socket.wait(tcp::socket::wait_read); }

  asio::io_context context;
  tcp::socket here;
  tcp::socket there;
};

std::string read_now(Inlet& inlet) {
  std::string room(64, '\0');
  room.resize(inlet.read_now(room.data(), room.size()));
  return room;
}

TEST(Inlet, GivesWhatHasArrivedAndNothingWhereNothingHas) {
  Pair pair;
  Socket socket(std::move(pair.here), nullptr);
  Inlet inlet(socket);
  EXPECT_EQ(read_now(inlet), "");
  pair.send("hello");
  Pair::await_bytes(socket.lowest());
  EXPECT_EQ(read_now(inlet), "hello");
  pair.there.close();
  Pair::await_bytes(socket.lowest());
  EXPECT_EQ(read_now(inlet), "");
}

// The number of a closed socket goes to the next connection: reading by the number would take that one's bytes.
TEST(Inlet, StaysWithItsConnectionWhenThatIsClosed) {
  Pair pair;
  Socket socket(std::move(pair.here), nullptr);
  Inlet inlet(socket);
  pair.send("for us");
  Pair::await_bytes(socket.lowest());
  socket.close();
  EXPECT_EQ(read_now(inlet), "for us");
}

TEST(Inlet, LeavesTlsToTheConnection) {
  Pair pair;
  Socket socket(std::move(pair.here), std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server));
  Inlet inlet(socket);
  pair.send("a client's hello");
  Pair::await_bytes(socket.lowest());
  EXPECT_EQ(read_now(inlet), "");
}

}  // namespace
}  // namespace restante::net
