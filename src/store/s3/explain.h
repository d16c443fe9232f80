// Why S3 refused, in a sentence that tells an operator what to change: the clock, the region, the key, its rights, the
// bucket. Says the server's code and its own words, cut and without control bytes; never a key or a signature.
#pragma once
#include <string>

#include "client/http_client.h"
#include "store/s3/answers.h"

namespace restante::s3 {

// What was asked, as far as a sentence needs it.
struct Asked {
  std::string method;
  std::string bucket;
  std::string endpoint;
  std::string region;
  Time now;
};

// Kind::status with the status of the response, the error's code and a sentence.
client::Failure explain(const client::Response& response, const ErrorAnswer& error, const Asked& asked);

// Whether the same request may well succeed if it is sent again soon.
bool is_worth_repeating(const client::Failure& failure);
// The object is not there; the bucket is.
bool is_missing(const client::Failure& failure);
// The credentials have had their time.
bool is_expired(const client::Failure& failure);

// "Fri, 24 May 2013 00:00:00 GMT".
std::optional<Time> parse_http_date(const std::string& text);

}  // namespace restante::s3
