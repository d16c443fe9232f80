#include "client/exchange.h"

#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>

#include <fmt/format.h>

#include "base/text.h"
#include "client/trust.h"

namespace restante::client {
namespace asio = boost::asio;
namespace beast = boost::beast::http;
using std::chrono::steady_clock;

namespace {

// Beast's parser throws when a field is longer than 64 KiB; with a buffer of that size it returns an error instead.
constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::uint32_t kHeaderBytes = 32 * 1024;
constexpr int kMaxInformational = 8;

using Parser = beast::response_parser<beast::buffer_body>;

bool is_idempotent(const Request& request) {
  static constexpr std::string_view methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
  return request.repeatable || std::find(std::begin(methods), std::end(methods), request.method) != std::end(methods);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
}

bool is_sendable(const Request& request) {
  if (has_control(request.method) || has_control(request.target) || !request.target.starts_with('/')) return false;
  if (request.target.find(' ') != std::string::npos) return false;
  return std::none_of(request.headers.begin(), request.headers.end(),
                      [](const Header& header) { return has_control(header.name) || has_control(header.value); });
}

std::string basic_credentials(const std::string& user_info) {
  return to_base64({reinterpret_cast<const std::uint8_t*>(user_info.data()), user_info.size()});
}

Failure wants_password(const Url& proxy) {
  const auto* what =
      proxy.user_info.empty() ? "wants a user name and a password" : "does not take this user name and password";
  return {Failure::Kind::unreachable, "the proxy " + proxy.text() + " " + what +
                                          "; they are given in its address, as http://name:password@" +
                                          proxy.host_and_port()};
}

Response head_of_answer(const Parser& parser) {
  Response response;
  response.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get()) {
    response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  return response;
}

// Beast treats an unknown coding as no body at all, and would read the body's bytes as the next answer.
bool has_unknown_coding(const Response& response) {
  const auto* coding = response.find("Transfer-Encoding");
  return coding && !equal_ignoring_case(trim(*coding), "chunked");
}

}  // namespace

HttpClient::Exchange::Exchange(Url server, HttpOptions options)
    : server_(std::move(server)), options_(std::move(options)), buffer_(kBufferBytes), chunk_(kChunkBytes) {
  buffer_.reserve(kBufferBytes);
}

Outcome<Response> HttpClient::Exchange::perform(const Request& request, const Sink& sink) {
  if (!is_sendable(request))
    return Failure(Failure::Kind::protocol, "the request holds a character that HTTP cannot carry");
  loop_->forget_hang_up();
  for (;;) {
    if (wire_ && (wire_->is_stale() || buffer_.size() > 0)) wire_.reset();
    const bool reused = wire_ != nullptr;
    if (!reused) {
      if (auto connected = connect(); connected.has_error()) return connected.error();
    }
    Progress progress;
    auto outcome = attempt(request, sink, progress);
    if (outcome.has_value()) return outcome;
    wire_.reset();
    if (loop_->hung_up()) return outcome;
    const bool died = outcome.error().kind == Failure::Kind::cut && !progress.answer_began;
    if (!reused || !died || progress.source_read || !is_idempotent(request)) return outcome;
  }
}

Outcome<Response> HttpClient::Exchange::attempt(const Request& request, const Sink& sink, Progress& progress) {
  wire_->set_timeouts(request.patience,
                      request.total ? std::optional(steady_clock::now() + *request.total) : std::nullopt);
  try {
    auto written = write_request(request, progress);
    if (written.has_error() && written.error().kind != Failure::Kind::cut) return written.error();
    // A server that refuses a body answers and closes; its answer contains the reason why the write failed.
    auto answer = read_response(request, sink, progress);
    if (answer.has_error() && written.has_error() && !progress.answer_began) return written.error();
    if (written.has_error()) wire_.reset();
    if (answer.has_value() && answer->status == 407 && proxy_) return wants_password(*proxy_);
    return answer;
  } catch (const std::exception&) {  // from Beast, for a field too long for its own table
    return Failure(Failure::Kind::protocol, "the answer is not valid HTTP");
  }
}

Outcome<void> HttpClient::Exchange::connect() {
  const auto chosen = choose_proxy(server_, options_.environment);
  if (chosen.has_error()) return chosen.error();
  const auto deadline = steady_clock::now() + options_.connect_patience;
  const auto& proxy = *chosen;
  wire_ = std::make_unique<Wire>(loop_);
  buffer_.clear();
  proxy_ = server_.tls ? std::nullopt : proxy;
  auto outcome = wire_->connect(proxy ? *proxy : server_, deadline);
  if (outcome.has_value() && proxy && server_.tls) outcome = tunnel(*proxy, deadline);
  if (outcome.has_value() && server_.tls) {
    if (!trust_) {
      auto trust = make_trust(options_.ca_file);
      if (trust.has_error()) return wire_.reset(), trust.error();
      trust_ = *trust;
    }
    outcome = wire_->start_tls(trust_, server_, deadline);
  }
  if (outcome.has_error()) wire_.reset();
  return outcome;
}

Outcome<void> HttpClient::Exchange::tunnel(const Url& proxy, Deadline deadline) {
  wire_->set_timeouts(options_.connect_patience, deadline);
  std::string head = "CONNECT " + server_.host_and_port() + " HTTP/1.1\r\nHost: " + server_.host_and_port() + "\r\n";
  if (!proxy.user_info.empty()) head += "Proxy-Authorization: Basic " + basic_credentials(proxy.user_info) + "\r\n";
  if (auto written = write(head + "\r\n"); written.has_error()) return written;
  Parser parser;
  parser.header_limit(kHeaderBytes);
  parser.skip(true);  // a 2xx to CONNECT has no body, whatever its headers claim
  Wire::error_code error;
  beast::read_header(*wire_, buffer_, parser, error);
  if (error) return failure_of(error);
  const auto status = parser.get().result_int();
  if (status == 407) return wants_password(proxy);
  if (status / 100 != 2 || buffer_.size() > 0) {
    return Failure(Failure::Kind::unreachable, "the proxy " + proxy.text() + " would not connect to " +
                                                   server_.host_and_port() + ": it answered " + std::to_string(status));
  }
  return {};
}

std::string HttpClient::Exchange::head_of(const Request& request) const {
  std::string head = request.method + " ";
  if (proxy_) head += "http://" + server_.authority();
  head += server_.path + request.target + " HTTP/1.1\r\nHost: " + server_.authority() + "\r\n";
  head += "User-Agent: " + options_.user_agent + "\r\n";
  if (proxy_ && !proxy_->user_info.empty())
    head += "Proxy-Authorization: Basic " + basic_credentials(proxy_->user_info) + "\r\n";
  for (const auto& header : request.headers) head += header.name + ": " + header.value + "\r\n";
  if (request.source && !request.source_length) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (request.source || !request.body.empty() || request.method == "POST" || request.method == "PUT") {
    head += "Content-Length: " + std::to_string(request.source ? *request.source_length : request.body.size()) + "\r\n";
  }
  return head + "\r\n";
}

Outcome<void> HttpClient::Exchange::write(std::string_view bytes) {
  while (!bytes.empty()) {
    Wire::error_code error;
    const auto sent = wire_->write_some(asio::buffer(bytes.data(), bytes.size()), error);
    if (error) return failure_of(error);
    bytes.remove_prefix(sent);
  }
  return {};
}

Outcome<void> HttpClient::Exchange::write_request(const Request& request, Progress& progress) {
  const auto head = head_of(request);
  if (request.source) {
    auto written = write(head);
    return written.has_error() ? written : write_source(request, progress);
  }
  return write(head + request.body);
}

Outcome<void> HttpClient::Exchange::write_source(const Request& request, Progress& progress) {
  auto left = request.source_length;
  std::vector<char> piece(kChunkBytes);
  for (;;) {
    if (left && *left == 0) return {};
    const auto room = left ? static_cast<std::size_t>(std::min<std::uint64_t>(*left, piece.size())) : piece.size();
    progress.source_read = true;
    const auto bytes = request.source(std::span(piece.data(), room));
    if (!bytes || (left && *bytes == 0)) return Failure(Failure::Kind::stopped, "the upload was stopped");
    const std::string_view data(piece.data(), std::min(*bytes, room));
    Outcome<void> written;
    if (left) {
      *left -= data.size();
      written = write(data);
    } else {
      written = write(fmt::format("{:x}\r\n{}\r\n", data.size(), data));  // the empty chunk ends the body
    }
    if (written.has_error() || (!left && data.empty())) return written;
  }
}

Outcome<Response> HttpClient::Exchange::read_response(const Request& request, const Sink& sink, Progress& progress) {
  std::optional<Parser> parser;
  Wire::error_code error;
  for (int informational = 0;; ++informational) {
    parser.emplace();
    parser->header_limit(kHeaderBytes);
    parser->body_limit(boost::none);
    if (request.method == "HEAD") parser->skip(true);
    beast::read_header(*wire_, buffer_, *parser, error);
    progress.answer_began = progress.answer_began || parser->got_some() || buffer_.size() > 0;
    if (error) return failure_of(error);
    if (parser->get().result_int() / 100 != 1) break;
    if (informational == kMaxInformational)
      return Failure(Failure::Kind::protocol, "the server never comes to its answer");
  }
  auto response = head_of_answer(*parser);
  if (has_unknown_coding(response))
    return Failure(Failure::Kind::protocol, "the answer has a coding that is not known");
  while (!parser->is_done()) {
    auto& body = parser->get().body();
    body.data = chunk_.data();
    body.size = chunk_.size();
    body.more = true;
    beast::read_some(*wire_, buffer_, *parser, error);
    if (error == beast::error::need_buffer) error = {};
    const std::string_view bytes(chunk_.data(), chunk_.size() - body.size);
    if (sink && response.succeeded()) {
      if (!bytes.empty() && !sink(response, bytes)) return Failure(Failure::Kind::stopped, "the download was stopped");
    } else {
      response.body += bytes;
      if (response.body.size() > request.max_body)
        return Failure(Failure::Kind::too_large, "the answer is larger than expected");
    }
    if (error) return failure_of(error);
  }
  if (!parser->keep_alive()) wire_.reset();
  return response;
}

Failure HttpClient::Exchange::failure_of(const Wire::error_code& error) const {
  using Kind = Failure::Kind;
  if (error == asio::error::operation_aborted) return {Kind::cancelled, "cancelled"};
  if (error == asio::error::timed_out) return {Kind::timeout, server_.host_and_port() + " stopped answering"};
  const bool ended = error == beast::error::end_of_stream || error == beast::error::partial_message ||
                     error.category() == asio::error::get_system_category() ||
                     error.category() == asio::error::get_misc_category() ||
                     error.category() == asio::error::get_ssl_category() ||
                     error.category() == asio::ssl::error::get_stream_category();
  if (ended) return {Kind::cut, "the connection to " + server_.host_and_port() + " broke off"};
  return {Kind::protocol, server_.host_and_port() + " does not answer in HTTP: " + error.message()};
}

}  // namespace restante::client
