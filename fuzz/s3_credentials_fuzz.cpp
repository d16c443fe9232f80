// Promises: values from a credentials file may be used in a header; written in the plain form they are read back.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/oracle.h"
#include "store/s3/credentials.h"

namespace {

bool fits_a_header(std::string_view value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using restante::s3::read_credentials;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto found = read_credentials(input, "default");
  if (!found) return 0;
  ORACLE(!found->access_key.empty() && !found->secret_key.empty());
  ORACLE(fits_a_header(found->access_key) && fits_a_header(found->secret_key) && fits_a_header(found->session_token));
  const auto again = read_credentials("[default]\naws_access_key_id=" + found->access_key + "\naws_secret_access_key=" +
                                          found->secret_key + "\naws_session_token=" + found->session_token,
                                      "default");
  ORACLE(again && again->access_key == found->access_key && again->secret_key == found->secret_key &&
         again->session_token == found->session_token);
  return 0;
}
