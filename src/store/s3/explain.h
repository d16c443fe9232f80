// Explains why S3 refused a request, in a sentence that names what the operator must change: the clock, the region, the
// access key, its permissions, the bucket. A sentence may contain the server's code and message, cut and without
// control bytes; never a key or a signature. Pure functions; nothing throws.
#pragma once
#include <string>

#include "client/http_client.h"
#include "store/s3/answers.h"

namespace restante::s3 {

// The facts about a request that a sentence needs.
struct RequestFacts {
  std::string method;
  std::string bucket;
  std::string endpoint;
  std::string region;
  Time now;
};

// Kind::status with the status of the response, the error's code and a sentence; Kind::protocol, with the status, when
// the answer is a page of a server that is not S3.
client::Failure explain(const client::Response& response, const ErrorAnswer& error, const RequestFacts& asked);

// Adds the setting to check to a failure that is about a certificate; returns any other failure as it is.
client::Failure explain_certificate(client::Failure failure, const std::string& endpoint, const std::string& ca_file);

// Whether the same request may well succeed if it is sent again soon.
bool is_worth_repeating(const client::Failure& failure);
// The object does not exist, but the bucket does.
bool is_missing(const client::Failure& failure);
// Whether other keys could succeed: these are expired, unknown, or have no permission.
bool may_be_of_keys(const client::Failure& failure);
// Whether the server probably does not support this request, with any keys.
bool is_unsupported(const client::Failure& failure);

// "Fri, 24 May 2013 00:00:00 GMT".
std::optional<Time> parse_http_date(const std::string& text);

}  // namespace restante::s3
