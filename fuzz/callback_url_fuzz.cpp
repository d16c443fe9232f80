// Promises: an accepted URL is written in a form that reads back the same and has only printable ASCII; a host that is
// not an address for us is not one for any resolver; an IPv4 address gets the same decision in every notation.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/oracle.h"
#include "http/callback_url.h"

namespace {

using namespace restante::http;

void check_url(std::string_view input) {
  const auto url = parse_callback_url(input);
  if (!url) {
    ORACLE(!sentence_of(url.error()).empty());
    return;
  }
  const std::string written = url->text();
  ORACLE(std::all_of(written.begin(), written.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; }));
  const auto again = parse_callback_url(written);
  ORACLE(again && again->text() == written && again->target() == url->target());
  ORACLE(again->host == url->host && again->port == url->port && again->secure == url->secure);
  ORACLE(!url->host.empty() && url->host.find_first_of("@/?#%[]") == std::string::npos && url->port != 0);
  ORACLE(url->target().front() == '/');
  in_addr loose{};
  // inet_aton is as lenient as the most lenient resolver: 127.1, 0x7f000001 and 017700000001 are loopback to it.
  ORACLE(url->literal || ::inet_aton(url->host.c_str(), &loose) == 0);
}

std::string text_of(const std::array<std::uint8_t, 16>& bytes) {
  char text[INET6_ADDRSTRLEN];
  ::inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

void check_address(const std::uint8_t* data) {
  const AddressRules rules;
  char four[INET_ADDRSTRLEN];
  ::inet_ntop(AF_INET, data, four, sizeof four);
  std::array<std::uint8_t, 16> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::array<std::uint8_t, 16> nat64{0, 0x64, 0xff, 0x9b};
  std::array<std::uint8_t, 16> relayed{0x20, 0x02};
  std::memcpy(mapped.data() + 12, data, 4);
  std::memcpy(nat64.data() + 12, data, 4);
  std::memcpy(relayed.data() + 2, data, 4);
  const bool verdict = rules.may_connect(four);
  ORACLE(rules.may_connect(text_of(mapped)) == verdict);
  ORACLE(rules.may_connect(text_of(nat64)) == verdict);
  ORACLE(!rules.may_connect(text_of(relayed)));
  const bool certainly_private = data[0] == 0 || data[0] == 10 || data[0] == 127 || data[0] >= 224 ||
                                 (data[0] == 192 && data[1] == 168) || (data[0] == 169 && data[1] == 254) ||
                                 (data[0] == 172 && (data[1] & 0xf0) == 16) ||
                                 (data[0] == 100 && (data[1] & 0xc0) == 64);
  ORACLE(!(certainly_private && verdict));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_url(input);
  (void)AddressRules{}.may_connect(input);
  if (size >= 4) check_address(data);
  return 0;
}
