// The note of a running server's address in its data directory, by which commands on the same machine find it. It is
// removed when the server stops, unless another server that shares the directory has written its own; after a kill it
// stays, and the refusal of a command names the address.
#pragma once
#include <optional>
#include <string>

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
};

// Where a program on this machine reaches a server that listens there: 127.0.0.1 instead of 0.0.0.0.
std::string local_address(const std::string& address);
// The noted address; no value when there is none.
std::optional<std::string> noted_address(const std::string& data);

}  // namespace restante::cli
