#include "client/wire.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

namespace restante::client {
namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

Failure connect_failure(const Url& peer, const Wire::error_code& error) {
  if (error == asio::error::operation_aborted) return Failure(Failure::Kind::cancelled, "cancelled");
  const auto reason = error == asio::error::timed_out ? std::string("no answer") : error.message();
  return Failure(Failure::Kind::unreachable, "cannot connect to " + peer.host_and_port() + ": " + reason);
}

bool is_of_authority(long verify_error) {
  switch (verify_error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:  // another authority of the same name
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_INVALID_CA:
      return true;
    default:
      return false;
  }
}

// Nothing was refused: the other side, or a device on the way, closed the connection.
bool is_cut(SSL* ssl, const Wire::error_code& error) {
  if (SSL_get_verify_result(ssl) != X509_V_OK) return false;
  return error == asio::ssl::error::stream_truncated || error.category() == asio::error::get_system_category() ||
         error.category() == asio::error::get_misc_category();
}

Failure tls_failure(SSL* ssl, const Wire::error_code& error, const std::string& server) {
  Failure failure(Failure::Kind::tls, "no secure connection to " + server + ": ");
  const long verify_error = SSL_get_verify_result(ssl);
  const auto reason = error.category() == asio::error::get_ssl_category()
                          ? ERR_GET_REASON(static_cast<unsigned long>(error.value()))
                          : 0;
  // Our own check of the name fails without a verify error: OpenSSL 1.1.1 then reports X509_V_OK, 3.0 an unspecified
  // error.
  const bool no_error = verify_error == X509_V_OK || verify_error == X509_V_ERR_UNSPECIFIED;
  if (no_error && reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    failure.doubt = Failure::Doubt::name;
    failure.sentence += "the certificate was not issued to this name";
  } else if (verify_error != X509_V_OK) {
    if (is_of_authority(verify_error)) failure.doubt = Failure::Doubt::authority;
    failure.sentence += X509_verify_cert_error_string(verify_error);
    if (failure.doubt == Failure::Doubt::authority)
      failure.sentence += "; if you trust it, set SSL_CERT_FILE to a file with that certificate or its authority's";
  } else if (reason == SSL_R_WRONG_VERSION_NUMBER) {
    // 1.1.1 and 3.0 report this in different ways; a plain-text server is the usual reason.
    failure.sentence += "the server does not speak TLS on this port";
  } else {
    failure.sentence += error.message();
  }
  return failure;
}

}  // namespace

template <class Start>
std::size_t Wire::perform(Deadline deadline, error_code& error, Start start) {
  bool done = false;
  std::size_t bytes = 0;
  if (loop_->cancelled()) {
    error = asio::error::operation_aborted;
    return 0;
  }
  start([&](const error_code& result, std::size_t count = 0) {
    error = result;
    bytes = count;
    done = true;
  });
  const auto ended = loop_->run_until(done, deadline);
  if (ended == Loop::Ended::done) return bytes;
  error_code ignored;
  socket_.close(ignored);
  loop_->drain(done);
  switch (ended) {
    case Loop::Ended::timeout:
      error = asio::error::timed_out;
      break;
    case Loop::Ended::hung_up:
      error = asio::error::connection_aborted;
      break;
    default:
      error = asio::error::operation_aborted;
  }
  return 0;
}

Outcome<void> Wire::connect(const Url& peer, Deadline deadline) {
  const auto endpoints = resolve(loop_, peer.host, peer.port, deadline);
  if (endpoints.has_error()) return endpoints.error();
  error_code error = asio::error::host_not_found;
  for (std::size_t i = 0; i < endpoints->size(); ++i) {
    // A broken IPv6 route must leave time for the IPv4 address after it.
    const auto now = steady_clock::now();
    const auto share = (deadline - now) / static_cast<long>(endpoints->size() - i);
    error_code ignored;
    socket_.close(ignored);
    const auto& endpoint = (*endpoints)[i];
    socket_.open(endpoint.protocol(), error);
    if (error) continue;
    fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);  // a command that we start must not keep our connections open
    perform(now + share, error, [&](auto handler) { socket_.async_connect(endpoint, handler); });
    if (!error || error == asio::error::operation_aborted) break;
  }
  if (error) return connect_failure(peer, error);
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  return {};
}

Outcome<void> Wire::start_tls(std::shared_ptr<asio::ssl::context> trust, const Url& server, Deadline deadline) {
  const auto& host = server.host;
  trust_ = std::move(trust);
  tls_.emplace(socket_, *trust_);
  error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  if (not_an_address) SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
  tls_->set_verify_callback(asio::ssl::host_name_verification(host));
  error_code error;
  perform(deadline, error, [&](auto handler) { tls_->async_handshake(asio::ssl::stream_base::client, handler); });
  if (!error) return {};
  if (error == asio::error::operation_aborted) return Failure(Failure::Kind::cancelled, "cancelled");
  if (error == asio::error::timed_out) {
    return Failure(Failure::Kind::timeout,
                   server.host_and_port() + " took the connection but did not answer the TLS handshake");
  }
  if (is_cut(tls_->native_handle(), error)) {
    return Failure(Failure::Kind::cut,
                   "the connection to " + server.host_and_port() + " broke off during the TLS handshake");
  }
  return tls_failure(tls_->native_handle(), error, server.host_and_port());
}

Deadline Wire::operation_deadline() const {
  const auto until = steady_clock::now() + idle_;
  return total_ ? std::min(until, *total_) : until;
}

bool Wire::is_stale() {
  error_code error;
  char byte = 0;
  socket_.non_blocking(true, error);
  if (error) return true;
  const auto bytes = socket_.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
  if (error == asio::error::would_block || error == asio::error::try_again) return false;
  // TLS 1.3 may send session tickets at any time; on a plain connection bytes without a request are a fault.
  return error || bytes == 0 || !tls_;
}

std::size_t Wire::read_some(asio::mutable_buffer into, error_code& error) {
  return perform(operation_deadline(), error, [&](auto handler) {
    tls_ ? tls_->async_read_some(asio::mutable_buffer(into), handler)
         : socket_.async_read_some(asio::mutable_buffer(into), handler);
  });
}

std::size_t Wire::write_some(asio::const_buffer from, error_code& error) {
  return perform(operation_deadline(), error, [&](auto handler) {
    tls_ ? tls_->async_write_some(asio::const_buffer(from), handler)
         : socket_.async_write_some(asio::const_buffer(from), handler);
  });
}

}  // namespace restante::client
