#include "client/http_client.h"

#include "base/json.h"
#include "base/text.h"
#include "client/exchange.h"

namespace restante::client {
namespace {

// A sentence from the other side is printed on a terminal: one line, no control bytes, not a whole page.
std::string presentable(std::string_view text) {
  std::string shown(cut_utf8(text, 300));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = ' ';
  }
  return shown;
}

Failure status_failure(const Response& response) {
  Failure failure(Failure::Kind::status, "the server answered " + std::to_string(response.status));
  failure.status = response.status;
  if (response.status / 100 == 3) failure.sentence += ", a redirect; use the address it leads to";
  if (const auto* retry = response.find("Retry-After")) {
    if (const auto seconds = parse_unsigned(*retry))
      failure.retry_after = std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
  }
  const auto body = parse_json(response.body);
  if (body.has_error()) return failure;
  if (const auto* error = body->find("error"); error && error->if_string() && is_valid_utf8(*error->if_string())) {
    failure.sentence += ": " + presentable(*error->if_string());
  }
  if (const auto* code = body->find("code"); code && code->if_string()) failure.code = *code->if_string();
  return failure;
}

}  // namespace

const std::string* Response::find(std::string_view name) const {
  for (const auto& header : headers) {
    if (equal_ignoring_case(header.name, name)) return &header.value;
  }
  return nullptr;
}

HttpClient::HttpClient(Url server, HttpOptions options)
    : exchange_(std::make_unique<Exchange>(std::move(server), std::move(options))) {}
HttpClient::~HttpClient() = default;

const Url& HttpClient::server() const { return exchange_->server(); }
Outcome<Response> HttpClient::send(const Request& request) { return exchange_->perform(request, {}); }
Outcome<Response> HttpClient::download(const Request& request, const Sink& sink) {
  return exchange_->perform(request, sink);
}
void HttpClient::cancel() { exchange_->cancel(); }
void HttpClient::hang_up() { exchange_->hang_up(); }

Outcome<Response> expect_success(Outcome<Response> outcome) {
  if (outcome.has_error() || outcome->succeeded()) return outcome;
  return status_failure(*outcome);
}

}  // namespace restante::client
