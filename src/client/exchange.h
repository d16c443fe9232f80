// Exchange performs one request and its answer: connect (through a proxy, with TLS), write, parse, keep alive. Only
// client/*.cpp include this file.
#pragma once
#include <boost/beast/core/flat_buffer.hpp>

#include "client/http_client.h"
#include "client/loop.h"
#include "client/wire.h"

namespace restante::client {

class HttpClient::Exchange {
 public:
  Exchange(Url server, HttpOptions options);

  const Url& server() const { return server_; }
  Outcome<Response> perform(const Request& request, const Sink& sink);
  void cancel() { loop_->cancel(); }
  void hang_up() { loop_->hang_up(); }

 private:
  // How far a request got, to decide whether it is safe to send it again.
  struct Progress {
    bool source_read = false;
    bool answer_began = false;
  };

  Outcome<Response> attempt(const Request& request, const Sink& sink, Progress& progress);
  Outcome<void> connect();
  Outcome<void> tunnel(const Url& proxy, Deadline deadline);
  Outcome<void> write(std::string_view bytes);
  Outcome<void> write_source(const Request& request, Progress& progress);
  Outcome<void> write_request(const Request& request, Progress& progress);
  Outcome<Response> read_response(const Request& request, const Sink& sink, Progress& progress);
  std::string head_of(const Request& request) const;
  Failure failure_of(const Wire::error_code& error) const;

  Url server_;
  HttpOptions options_;
  std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  std::shared_ptr<boost::asio::ssl::context> trust_;
  std::optional<Url> proxy_;    // of the current connection, when requests on it need the absolute form
  std::unique_ptr<Wire> wire_;  // null: not connected
  boost::beast::flat_buffer buffer_;
  std::vector<char> chunk_;
};

}  // namespace restante::client
