// Tls: the current certificate. A reload replaces it for later connections; open connections keep theirs. Thread-safe.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include <boost/asio/ssl.hpp>

namespace restante::net {

class Tls {
 public:
  // Throws std::runtime_error with a sentence when the files cannot be used.
  Tls(std::string certificate_file, std::string key_file);
  void reload();
  std::shared_ptr<boost::asio::ssl::context> current() const;

 private:
  const std::string certificate_file_;
  const std::string key_file_;
  mutable std::mutex mutex_;  // reload() is called on the signal's thread
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace restante::net
