// Why S3 refused, in a sentence that tells an operator what to change: the clock, the region, the key, its rights, the
// bucket. Says the server's code and its own words, cut and without control bytes; never a key or a signature.
#pragma once
#include <string>

#include "client/http_client.h"
#include "store/s3/answers.h"

namespace restante::s3 {

// What was asked, as far as a sentence needs it.
struct RequestFacts {
  std::string method;
  std::string bucket;
  std::string endpoint;
  std::string region;
  Time now;
};

// Kind::status with the status of the response, the error's code and a sentence; Kind::protocol, with the status, where
// the answer is a page of something that is not S3.
client::Failure explain(const client::Response& response, const ErrorAnswer& error, const RequestFacts& asked);

// As it is, or, where it is of a certificate that is not believed, with which setting to look at.
client::Failure explain_certificate(client::Failure failure, const std::string& endpoint, const std::string& ca_file);

// Whether the same request may well succeed if it is sent again soon.
bool is_worth_repeating(const client::Failure& failure);
// The object is not there; the bucket is.
bool is_missing(const client::Failure& failure);
// Other keys might well be let in: these have had their time, are unknown, or may not.
bool may_be_of_keys(const client::Failure& failure);
// The server does not do what was asked, whoever asks; as far as one can tell.
bool is_unsupported(const client::Failure& failure);

// "Fri, 24 May 2013 00:00:00 GMT".
std::optional<Time> parse_http_date(const std::string& text);

}  // namespace restante::s3
