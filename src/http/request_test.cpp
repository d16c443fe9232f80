#include "http/request.h"

#include <gtest/gtest.h>

#include <string>

#include "base/test_rows.h"

namespace restante::http {
namespace {

TEST(Request, HeadersAreFoundInAnyLetterCaseAndTheFirstWins) {
  Request request;
  request.headers = {{"X-One", "1"}, {"x-ONE", "2"}, {"Other", ""}};
  EXPECT_EQ(request.header("x-one"), "1");
  EXPECT_EQ(request.header_count("X-ONE"), 2u);
  EXPECT_EQ(request.header("absent"), "");
  EXPECT_EQ(request.header_count("absent"), 0u);
}

TEST(Request, SeveralHeadersOfOneNameAreOneList) {
  Request request;
  EXPECT_EQ(request.header_list("X-Forwarded-For"), "");
  request.headers = {{"X-Forwarded-For", "203.0.113.9"}, {"Host", "h"}, {"x-forwarded-for", "10.0.0.1, 10.0.0.2"}};
  EXPECT_EQ(request.header_list("X-Forwarded-For"), "203.0.113.9, 10.0.0.1, 10.0.0.2");
  EXPECT_EQ(request.header_list("Host"), "h");
}

TEST(Request, ThereIsABodyWhenItIsFramed) {
  Request request;
  EXPECT_FALSE(request.has_body());
  request.content_length = 0;
  EXPECT_FALSE(request.has_body());
  request.content_length = 1;
  EXPECT_TRUE(request.has_body());
  Request chunked;
  chunked.chunked = true;
  EXPECT_TRUE(chunked.has_body());
}

TEST(Request, PathParametersAreFoundByTheirName) {
  Request request;
  request.path_params = {{"id", "a b"}, {"fid", "c"}};
  EXPECT_EQ(request.param("id"), "a b");
  EXPECT_EQ(request.param("fid"), "c");
  EXPECT_EQ(request.param("ID"), "");
}

TEST(Request, QueryParametersAreDecodedAndTheFirstWins) {
  Request request;
  EXPECT_EQ(request.query_param("a"), std::nullopt);
  request.query = "a=1&b=x%20y+z%2B&c&=e&d=&a=2&f=1=2&&g=%C3%A9&h=%zz&i=%00&aa=3";
  expect_rows([&](std::string_view name) { return request.query_param(name); },
              {{"a", "1"}, {"b", "x y z+"}, {"c", ""}, {"d", ""}, {"f", "1=2"}, {"g", "\xC3\xA9"}});
  for (const char* name : {"h", "i", "A", "e"}) EXPECT_EQ(request.query_param(name), std::nullopt) << name;
}

TEST(Request, AQueryIsSoundWhenEveryEscapeIsCompleteAndDecodesToText) {
  const auto sound = [](std::string_view query) {
    Request request;
    request.query = query;
    return request.has_sound_query();
  };
  for (const char* query : {"", "a=1", "a=%20&b=%C3%A9", "%61=1", "a=+", "&&=", "a=%25zz"})
    EXPECT_TRUE(sound(query)) << query;
  for (const char* query :
       {"a=%", "a=%4", "a=%zz", "a=%00", "%=1", "a=1&b=%g0", "a=%ff", "a=%C3&b=%A9", "a=%ED%A0%80"}) {
    EXPECT_FALSE(sound(query)) << query;
  }
}

TEST(Request, ATraceContextIsUsedOnlyWhenItIsValid) {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto taken = [](const std::string& value) {
    Request request;
    request.headers = {{"Traceparent", value}};
    return std::string(request.traceparent());
  };
  EXPECT_EQ(taken(good), good);
  EXPECT_EQ(taken("01" + good.substr(2)), "01" + good.substr(2));
  EXPECT_EQ(taken("01" + good.substr(2) + "-what-comes-later"), "01" + good.substr(2));
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "-x", good + "0", "ff" + good.substr(2), "01" + good.substr(2) + "x",
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
        std::string("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01"),
        "01" + good.substr(2) + "-" + std::string(1000, 'x')}) {
    EXPECT_EQ(taken(bad), "") << bad;
  }
}

}  // namespace
}  // namespace restante::http
