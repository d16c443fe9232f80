// Callback URLs: where a push workspace wants to be called, and whether we may call there. Whoever registers a URL
// makes this server connect to it from inside its network, so both are strict: one spelling of a host, http and https
// only, and no address that is not plainly public unless the operator has listed it. Pure; look-ups and connections are
// others'.
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
  numeric_host,  // 127.1, 2130706433, 0x7f000001: one address, many spellings
  local_host,
  bad_port,
  bad_escape,
};

// What a person reads: ours, never the URL's own words.
std::string_view sentence_of(CallbackFault fault);

struct CallbackUrl {
  bool secure = false;
  std::string host;      // lower case; an IPv6 address without its brackets
  bool literal = false;  // the host is an address, nothing to look up
  std::uint16_t port = 80;
  std::string path;   // empty, or begins with '/'
  std::string query;  // empty, or begins with '?'

  // What goes into Host: brackets where needed, the port unless it is the scheme's own.
  std::string authority() const;
  // What is asked for: never empty.
  std::string target() const;
  std::string text() const;
};

boost::system::result<CallbackUrl, CallbackFault> parse_callback_url(std::string_view text);

struct AddressRules {
  std::vector<Network> allow_networks;     // beyond what is public; they win over everything below
  std::vector<std::uint16_t> allow_ports;  // beside 80 and 443

  bool may_use_port(std::uint16_t port) const;
  // Public unicast, or allowed. An IPv4 address inside an IPv6 one (mapped, NAT64) is judged as itself. What is no
  // address, or has a scope, is refused.
  bool may_connect(std::string_view address) const;
};

// Asking an unchecked result for its value is our own bug.
[[noreturn]] void throw_exception_from_error(CallbackFault fault, const boost::source_location&);

}  // namespace restante::http
