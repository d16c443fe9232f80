#include "net/arrived_data_reader.h"

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

std::string read_now(ArrivedDataReader& reader) {
  std::string room(64, '\0');
  room.resize(reader.read_now(room.data(), room.size()));
  return room;
}

TEST(ArrivedDataReader, ReadsDataThatHasArrivedAndReturnsNothingOtherwise) {
  Pair pair;
  Socket socket(std::move(pair.here), nullptr);
  ArrivedDataReader reader(socket);
  EXPECT_EQ(read_now(reader), "");
  pair.send("hello");
  Pair::await_bytes(socket.lowest());
  EXPECT_EQ(read_now(reader), "hello");
  pair.there.close();
  Pair::await_bytes(socket.lowest());
  EXPECT_EQ(read_now(reader), "");
}

// The kernel gives the number of a closed socket to the next connection: a read by number would take that one's bytes.
TEST(ArrivedDataReader, KeepsItsConnectionWhenThatIsClosed) {
  Pair pair;
  Socket socket(std::move(pair.here), nullptr);
  ArrivedDataReader reader(socket);
  pair.send("for us");
  Pair::await_bytes(socket.lowest());
  socket.close();
  EXPECT_EQ(read_now(reader), "for us");
}

TEST(ArrivedDataReader, ReadsNothingFromATlsConnection) {
  Pair pair;
  Socket socket(std::move(pair.here), std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server));
  ArrivedDataReader reader(socket);
  pair.send("a client's hello");
  Pair::await_bytes(socket.lowest());
  EXPECT_EQ(read_now(reader), "");
}

}  // namespace
}  // namespace restante::net
