// AWS Signature Version 4 as S3 requires it: the path is encoded once and never normalised, and the payload's digest is
// signed. The request is sent exactly as it is signed, with encode_path() and encode_query(), so that a server cannot
// canonicalise it differently. Pure functions; nothing throws.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/crypto.h"
#include "client/http_client.h"
#include "store/s3/credentials.h"

namespace restante::s3 {

using Query = std::vector<std::pair<std::string, std::string>>;  // decoded

// Where a signature is valid.
struct Scope {
  std::string region;
  std::string service = "s3";
};

struct Signable {
  std::string method;
  std::string path;  // encoded, from the root of the host
  Query query;
  std::vector<client::Header> headers;  // every one is signed; Host must be among them
  std::string payload_digest;           // hexadecimal SHA-256
};

// Each segment by RFC 3986: everything but letters, digits and -._~ becomes %XX in capitals; slashes stay.
std::string encode_path(std::string_view path);
// name=value pairs in the order of their encoded bytes; a value may be empty, its = stays. No leading '?'.
std::string encode_query(const Query& query);
// 20130524T000000Z
std::string signing_time(Time time);

std::string canonical_request(const Signable& request);
Digest signing_key(std::string_view secret, std::string_view day, const Scope& scope);
// The value of the Authorization header.
std::string authorization(const Signable& request, const Credentials& who, const Scope& scope, Time now);

}  // namespace restante::s3
