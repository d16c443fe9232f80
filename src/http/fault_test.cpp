#include "http/fault.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/json.h"

namespace restante::http {
namespace {

constexpr Fault kAll[] = {faults::malformed,       faults::no_host,           faults::several_hosts,
                          faults::uri_too_long,    faults::headers_too_large, faults::unknown_method,
                          faults::unknown_coding,  faults::bad_expect,        faults::encoded_body,
                          faults::length_required, faults::unexpected_body,   faults::body_too_large,
                          faults::timed_out,       faults::body_cut};

TEST(Fault, IsAnsweredInTheCommonShape) {
  const Response response = to_response(faults::malformed);
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, kJson);
  EXPECT_EQ(std::get<std::string>(response.content),
            R"({"error":"the request is not well-formed HTTP/1.1","code":"bad_request"})");
}

TEST(Fault, ContainsTheMaximumWhenThereIsOne) {
  EXPECT_EQ(std::get<std::string>(to_response(faults::body_too_large, 1048576).content),
            R"({"error":"the body exceeds what this route takes","code":"body_too_large","max":1048576})");
}

TEST(Fault, EveryFaultHasItsOwnSentenceAReasonAndIsAClientError) {
  std::set<std::string_view> codes;
  std::set<std::string_view> sentences;
  for (const Fault& fault : kAll) {
    // A request that is no HTTP/1.1 has one code, and a sentence for each mistake that people really make.
    EXPECT_TRUE(codes.insert(fault.code).second || fault.code == faults::malformed.code) << fault.code;
    EXPECT_TRUE(sentences.insert(fault.sentence).second) << fault.sentence;
    EXPECT_EQ(fault.code.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << fault.code;
    EXPECT_NE(reason(fault.status), "Unknown") << fault.code;
    EXPECT_TRUE(fault.status / 100 == 4 || fault.status == 501) << fault.code;
    const auto body = parse_json(std::get<std::string>(to_response(fault).content));
    ASSERT_TRUE(body);
    EXPECT_EQ(*body->find("code")->if_string(), fault.code);
    EXPECT_EQ(*body->find("error")->if_string(), fault.sentence);
  }
}

}  // namespace
}  // namespace restante::http
