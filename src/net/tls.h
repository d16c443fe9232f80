// Tls: the current certificate. A reload replaces it for later connections; open connections keep theirs. Thread-safe.
#pragma once
#include <memory>
#include <string>

#include <boost/asio/ssl.hpp>

#include "base/mutex.h"

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
  mutable Mutex mutex_;  // reload() is called on the signal's thread
  std::shared_ptr<boost::asio::ssl::context> context_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::net
