// The note of a running server's address in its data directory, by which commands on the same machine find it. The
// server has the file locked for as long as it runs: after a kill the note stays, but counts as none, because another
// program may have the port by then and must not get a token.
#pragma once
#include <optional>
#include <string>

#include "base/fd.h"

namespace restante::cli {

class AddressNote {
 public:
  // `address` is one that the server listens on; `public_url` is used with TLS, because the certificate names it.
  AddressNote(const std::string& data, const std::string& address, const std::string& public_url);
  ~AddressNote();
  AddressNote(const AddressNote&) = delete;
  AddressNote& operator=(const AddressNote&) = delete;

 private:
  std::string data_, file_, address_;
  Fd locked_;
};

// Where a program on this machine reaches a server that listens there: 127.0.0.1 instead of 0.0.0.0.
std::string local_address(const std::string& address);
// The address that a running server has noted; no value when there is none.
std::optional<std::string> noted_address(const std::string& data);

}  // namespace restante::cli
