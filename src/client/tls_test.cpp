#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <filesystem>

#include "client/http_client.h"
#include "client/test_server.h"

namespace restante::client {
namespace {

using Kind = Failure::Kind;

// A self-signed certificate, its key, and a TLS server's context with both; the certificate also as a file.
class Certificate {
 public:
  explicit Certificate(const std::string& subject_alternative_name, long valid_for = 3600) {
    key_ = EVP_EC_gen("P-256");
    certificate_ = X509_new();
    X509_set_version(certificate_, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), valid_for);
    X509_set_pubkey(certificate_, key_);
    auto* name = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate_, name);
    auto* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, subject_alternative_name.c_str());
    X509_add_ext(certificate_, extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(certificate_, key_, EVP_sha256());
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate_);
    SSL_CTX_use_PrivateKey(context_, key_);
    write();
  }
  ~Certificate() {
    std::filesystem::remove(file_);
    SSL_CTX_free(context_);
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  SSL_CTX* context() const { return context_; }
  const std::string& file() const { return file_; }

 private:
  void write() {
    file_ = (std::filesystem::temp_directory_path() / "restante-tls-XXXXXX").string();
    const int fd = mkstemp(file_.data());
    FILE* out = fdopen(fd, "w");
    PEM_write_X509(out, certificate_);
    fclose(out);
  }

  EVP_PKEY* key_;
  X509* certificate_;
  SSL_CTX* context_;
  std::string file_;
};

TestServer::Script serve_tls(const Certificate& certificate) {
  return [&](TestConnection& peer) {
    if (!peer.start_tls(certificate.context())) return;
    while (!peer.read_request().empty()) peer.answer("200 OK", "secret");
  };
}

Url secure(const TestServer& server) { return parse_url("https://127.0.0.1:" + std::to_string(server.port())).value(); }

HttpOptions trusting(const std::string& ca_file) {
  HttpOptions options;
  options.ca_file = ca_file;
  return options;
}

// The failure of a request to the server.
Failure failure_at(const TestServer& server, const HttpOptions& options = {}) {
  HttpClient client(secure(server), options);
  const auto outcome = client.send({});
  EXPECT_TRUE(outcome.has_error());
  return outcome.has_error() ? outcome.error() : Failure(Kind::status, "it did not fail");
}

TEST(Tls, ACertificateOfATrustedAuthorityForThisNameIsAccepted) {
  const Certificate certificate("IP:127.0.0.1");
  TestServer server({serve_tls(certificate)});
  HttpClient client(secure(server), trusting(certificate.file()));
  EXPECT_EQ(client.send({}).value().body, "secret");
  EXPECT_EQ(client.send({}).value().body, "secret");
  EXPECT_EQ(server.connections(), 1u);
}

TEST(Tls, AnUnknownAuthorityIsRefused) {
  const Certificate certificate("IP:127.0.0.1");
  TestServer server({serve_tls(certificate)});
  const Failure failure = failure_at(server);
  EXPECT_EQ(failure.kind, Kind::tls) << failure.sentence;
  EXPECT_EQ(failure.doubt, Failure::Doubt::authority);
  EXPECT_TRUE(failure.sentence.starts_with("no secure connection to 127.0.0.1:" + std::to_string(server.port())))
      << failure.sentence;
  EXPECT_NE(failure.sentence.find("SSL_CERT_FILE"), std::string::npos) << failure.sentence;
}

TEST(Tls, ACertificateForAnotherNameIsRefused) {
  const Certificate certificate("DNS:example.com,IP:127.0.0.2");
  TestServer server({serve_tls(certificate)});
  const Failure failure = failure_at(server, trusting(certificate.file()));
  EXPECT_EQ(failure.kind, Kind::tls) << failure.sentence;
  EXPECT_EQ(failure.doubt, Failure::Doubt::name);
}

// As long as nothing was refused, the next attempt may succeed.
TEST(Tls, AHandshakeThatIsCutIsNoRefusal) {
  const TestServer::Script close_at_once = [](TestConnection& peer) { peer.receive_some(); };
  const TestServer::Script reset = [](TestConnection& peer) { peer.receive_some(), peer.reset_on_close(); };
  TestServer server({close_at_once, reset});
  HttpClient client(secure(server));
  for (int i = 0; i < 2; ++i) {
    const auto outcome = client.send({});
    ASSERT_TRUE(outcome.has_error());
    EXPECT_EQ(outcome.error().kind, Kind::cut) << outcome.error().sentence;
  }
}

TEST(Tls, AFileWithoutAnAuthorityIsNamed) {
  const Certificate certificate("IP:127.0.0.1");
  TestServer server({serve_tls(certificate)});
  const Failure failure = failure_at(server, trusting("/dev/null"));
  EXPECT_EQ(failure.kind, Kind::tls);
  EXPECT_NE(failure.sentence.find("/dev/null"), std::string::npos) << failure.sentence;
}

TEST(Tls, AnExpiredCertificateIsRefusedWithThatReason) {
  const Certificate certificate("IP:127.0.0.1", -60);
  TestServer server({serve_tls(certificate)});
  const Failure failure = failure_at(server, trusting(certificate.file()));
  EXPECT_EQ(failure.kind, Kind::tls);
  EXPECT_EQ(failure.doubt, Failure::Doubt::none);
  EXPECT_NE(failure.sentence.find("expired"), std::string::npos) << failure.sentence;
}

TEST(Tls, APlainTextServerIsATlsFailure) {
  TestServer server({[](TestConnection& peer) {
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.wait_until_closed();
  }});
  const Failure failure = failure_at(server);
  EXPECT_EQ(failure.kind, Kind::tls) << failure.sentence;
}

TEST(Tls, AProxyPassesTheSecureConnectionOnUnread) {
  const Certificate certificate("DNS:far.example");
  std::string request;
  // The same script is also the server behind the proxy: after its 200 the bytes are the server's.
  TestServer proxy({[&](TestConnection& peer) {
    request = peer.read_request();
    peer.send("HTTP/1.1 200 Connection established\r\n\r\n");
    serve_tls(certificate)(peer);
  }});
  HttpOptions options = trusting(certificate.file());
  options.environment = [&](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "HTTPS_PROXY" ? std::optional("http://127.0.0.1:" + std::to_string(proxy.port()))
                                                   : std::nullopt;
  };
  HttpClient client(parse_url("https://far.example").value(), options);
  EXPECT_EQ(client.send({}).value().body, "secret");
  EXPECT_TRUE(request.starts_with("CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n")) << request;
}

TEST(Tls, AProxyThatRefusesIsNamed) {
  TestServer proxy({[&](TestConnection& peer) { peer.read_request(), peer.answer("403 Forbidden", "no"); }});
  HttpOptions options;
  options.environment = [&](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "https_proxy" ? std::optional("http://127.0.0.1:" + std::to_string(proxy.port()))
                                                   : std::nullopt;
  };
  HttpClient client(parse_url("https://far.example").value(), options);
  const auto outcome = client.send({});
  ASSERT_TRUE(outcome.has_error());
  EXPECT_EQ(outcome.error().kind, Kind::unreachable);
  EXPECT_NE(outcome.error().sentence.find("403"), std::string::npos) << outcome.error().sentence;
}

}  // namespace
}  // namespace restante::client
