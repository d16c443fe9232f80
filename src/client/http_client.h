// HttpClient: HTTP/1.1 to one server, blocking, over one kept-alive connection; http and https, through the proxy set
// in the environment. Bodies are streamed in both directions in bounded memory. Redirects are returned and never
// followed, because the token would be sent along. Belongs to one thread at a time; cancel() and hang_up() may be
// called from any thread. Throws nothing itself.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/failure.h"
#include "client/proxy.h"
#include "client/url.h"

namespace restante::client {

struct Header {
  std::string name;
  std::string value;
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;  // empty when a sink took it

  // The first header of that name in any letter case; null when absent.
  const std::string* find(std::string_view name) const;
  bool succeeded() const { return status >= 200 && status < 300; }
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query, appended to the server's own path
  std::vector<Header> headers;
  std::string body;
  // Instead of `body`: called for the next bytes until it returns 0. Returning nothing ends the request as stopped. The
  // body is sent chunked unless source_length is set.
  std::function<std::optional<std::size_t>(std::span<char>)> source;
  std::optional<std::uint64_t> source_length;
  // The effect is the same however often the request is sent; for GET, HEAD, PUT, DELETE and OPTIONS this is always so.
  // Such a request is sent once more when a kept-alive connection turns out to be closed.
  bool repeatable = false;
  std::chrono::milliseconds patience{30'000};      // longest time without data, in either direction
  std::optional<std::chrono::milliseconds> total;  // longest duration of the whole exchange
  std::size_t max_body = 1 << 20;                  // of an answer kept in memory
};

struct HttpOptions {
  std::chrono::milliseconds connect_patience{15'000};  // for name, connection, proxy and TLS together
  std::string ca_file;                                 // empty: the system's authorities
  std::string user_agent = "restante";
  Environment environment = from_environment;
};

class HttpClient {
 public:
  // Takes the next bytes of a 2xx body, with the head of that answer; false ends the exchange as stopped.
  using Sink = std::function<bool(const Response& head, std::string_view bytes)>;

  explicit HttpClient(Url server, HttpOptions options = {});
  ~HttpClient();

  const Url& server() const;

  // Any status is an answer.
  Outcome<Response> send(const Request& request);
  // As send(), but the sink gets a 2xx body; any other body is in the response. After a failure the sink has got a
  // correct prefix of the body.
  Outcome<Response> download(const Request& request, const Sink& sink);

  // Ends a running call and every later one as cancelled. Final: a cancelled client can only be destroyed.
  void cancel();
  // Ends a running call as cut, and its connection; the next call makes a new connection. From any thread.
  void hang_up();

 private:
  class Exchange;
  std::unique_ptr<Exchange> exchange_;
};

// The response if it is 2xx, else Kind::status with the server's own sentence if it sent one.
Outcome<Response> expect_success(Outcome<Response> outcome);

}  // namespace restante::client
