// Which of several servers a url connects to, and when the wait for one of them ends.
#include "store/postgres/connections/connection.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "postgres_server.h"

namespace restante::testing {
namespace {

using postgres::Connection;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Accepts connections and never answers, like a machine that lost its power.
class SilentPort {
 public:
  SilentPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(fd_, raw, size) != 0 || ::listen(fd_, 16) != 0 || ::getsockname(fd_, raw, &size) != 0) {
      throw std::runtime_error("no port");
    }
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { ::close(fd_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

class PostgresHosts : public ::testing::Test {
 protected:
  // postgres://user@host:port/name
  std::string user() const { return piece("//", "@"); }
  std::string port() const { return piece("127.0.0.1:", "/"); }
  std::string name() const { return database.url().substr(database.url().rfind('/') + 1); }
  postgres::ConnectionOptions endpoint(const std::string& url,
                                       std::chrono::milliseconds patience = std::chrono::minutes(2)) {
    postgres::ConnectionOptions made;
    made.url = url;
    made.connect_timeout = patience;
    return made;
  }
  std::string connected_to(const std::string& url, std::chrono::milliseconds patience = std::chrono::minutes(2)) {
    return Connection(endpoint(url, patience)).query("SELECT current_database()::text").front().text(0);
  }

  PostgresDatabase database;
  SilentPort silent;

 private:
  std::string piece(const std::string& from, const std::string& to) const {
    const auto begin = database.url().find(from) + from.size();
    return database.url().substr(begin, database.url().find(to, begin) - begin);
  }
};

TEST_F(PostgresHosts, OfSeveralHostsTheFirstThatAnswersIsUsed) {
  // The silent host gets half of the time.
  EXPECT_EQ(
      connected_to(fmt::format("postgres://{}@127.0.0.1:{},127.0.0.1:{}/{}", user(), silent.port(), port(), name()),
                   std::chrono::seconds(12)),
      name());
  EXPECT_EQ(
      connected_to(fmt::format("postgres://{}@127.0.0.1:{},127.0.0.1:{}/{}", user(), port(), silent.port(), name())),
      name());
}

TEST_F(PostgresHosts, SeveralHostsMayShareAPortOrHaveAddresses) {
  EXPECT_EQ(
      connected_to(fmt::format("postgres:///{}?user={}&host=127.0.0.1,localhost&port={}", name(), user(), port())),
      name());
  EXPECT_EQ(connected_to(fmt::format("postgres:///{}?user={}&host=one,two&hostaddr=127.0.0.1,127.0.0.1&port={}", name(),
                                     user(), port())),
            name());
}

TEST_F(PostgresHosts, OfSeveralHostsOneMustTakeWritesUnlessTheUrlSaysOtherwise) {
  Connection(endpoint(database.url())).query("ALTER DATABASE " + name() + " SET default_transaction_read_only = on");
  const std::string both = fmt::format("postgres://{}@127.0.0.1:{},127.0.0.1:{}/{}", user(), port(), port(), name());
  EXPECT_THAT([&] { connected_to(both); }, ThrowsMessage<postgres::Lost>(HasSubstr("read-only")));
  EXPECT_THAT(
      [&] {
        connected_to(fmt::format("postgres:///{}?user={}&host=one,two&hostaddr=127.0.0.1,127.0.0.1&port={}", name(),
                                 user(), port()));
      },
      ThrowsMessage<postgres::Lost>(HasSubstr("read-only")));
  EXPECT_EQ(connected_to(both + "?target_session_attrs=any"), name());
  EXPECT_EQ(connected_to(database.url()), name()) << "there is no other host";
}

TEST_F(PostgresHosts, WhenNoHostIsUsableEachIsNamedWithItsReason) {
  EXPECT_THAT(
      [&] { connected_to("postgres://nobody:hunter2@127.0.0.1:1,localhost:1/none"); },
      ThrowsMessage<postgres::Lost>(AllOf(HasSubstr("127.0.0.1: "), HasSubstr("localhost: "), HasSubstr("refused"))));
  EXPECT_THAT([&] { connected_to("postgres:///none?host=/nowhere,/nowhere/else"); },
              ThrowsMessage<postgres::Lost>(HasSubstr("/nowhere/else: ")));
  EXPECT_THROW(connected_to("postgres://a%zz"), postgres::Lost) << "libpq reports an invalid url";
}

TEST_F(PostgresHosts, NoWaitIsLongerThanTheShutdownDeadline) {
  ShutdownDeadline shutdown_deadline;
  auto to_silence = endpoint(fmt::format("postgres://{}@127.0.0.1:{}/{}", user(), silent.port(), name()));
  to_silence.shutdown_deadline = &shutdown_deadline;
  shutdown_deadline.end_within(std::chrono::milliseconds(50));
  EXPECT_THROW(Connection{to_silence}, postgres::Stalled);
  shutdown_deadline.end_within(std::chrono::minutes(2));
  EXPECT_THROW(Connection{to_silence}, postgres::Stalled) << "a later deadline does not count";
}

}  // namespace
}  // namespace restante::testing
