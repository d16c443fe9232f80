// Callback URLs: the URL of a push workspace, and whether this server may call it. A person who registers a URL makes
// this server connect to it from inside its network. Both checks are therefore strict: one spelling of a host, http and
// https only, and no address that is not clearly public unless the operator has listed it. Pure; look-ups and
// connections are made in net/.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "http/addresses.h"

namespace restante::http {

enum class CallbackFault {
  too_long,
  bad_character,  // blank, control, backslash, not ASCII
  bad_scheme,
  credentials,
  fragment,
  bad_host,
  numeric_host,  // 127.1, 2130706433, 0x7f000001: one address in many spellings
  local_host,
  bad_port,
  bad_escape,
};

// A sentence for people. It is our text and contains nothing of the URL.
std::string_view sentence_of(CallbackFault fault);

struct CallbackUrl {
  bool secure = false;
  std::string host;      // lower case; an IPv6 address without its brackets
  bool literal = false;  // the host is an address, nothing to look up
  std::uint16_t port = 80;
  std::string path;   // empty, or begins with '/'
  std::string query;  // empty, or begins with '?'

  // The value of the Host header: brackets where needed, the port unless it is the scheme's default.
  std::string authority() const;
  // Path and query of the request; never empty.
  std::string target() const;
  std::string text() const;
};

boost::system::result<CallbackUrl, CallbackFault> parse_callback_url(std::string_view text);

struct AddressRules {
  std::vector<Network> allow_networks;     // in addition to public ones; they win over everything below
  std::vector<std::uint16_t> allow_ports;  // in addition to 80 and 443

  bool may_use_port(std::uint16_t port) const;
  // Public unicast, or allowed. An IPv4 address inside an IPv6 address (mapped, NAT64) is checked as IPv4. Text that is
  // not an address, or has a scope, is refused.
  bool may_connect(std::string_view address) const;
};

// To take the value of an unchecked result is our own bug.
[[noreturn]] void throw_exception_from_error(CallbackFault fault, const boost::source_location&);

}  // namespace restante::http
