#include "http/router.h"

#include <gtest/gtest.h>

#include <string>

namespace restante::http {
namespace {

Route route(Method method, std::string pattern) {
  Route row;
  row.method = method;
  row.pattern = std::move(pattern);
  return row;
}

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    router_.add(route(Method::get, "/"));
    router_.add(route(Method::get, "/health"));
    router_.add(route(Method::post, "/workspaces"));
    router_.add(route(Method::get, "/workspaces"));
    router_.add(route(Method::get, "/workspaces/:id"));
    router_.add(route(Method::patch, "/workspaces/:id"));
    router_.add(route(Method::delete_, "/workspaces/:id"));
    router_.add(route(Method::get, "/workspaces/:id/files/:fid/content"));
    router_.add(route(Method::post, "/workspaces/:id/files/:fid/ack"));
    router_.add(route(Method::post, "/registry/register"));
  }

  // The pattern that was found, "405 " and the allowed methods, or "404".
  std::string found(Method method, std::string_view path) {
    Request request;
    request.method = method;
    request.path = path;
    const auto match = router_.match(request);
    params_.clear();
    for (const auto& [name, value] : request.path_params) params_ += std::string(name) + "=" + value + ";";
    if (!match.route) return match.allow.empty() ? "404" : "405 " + match.allow;
    EXPECT_EQ(match.route, &router_.routes()[match.index]);
    EXPECT_EQ(match.allow, "");
    return match.route->pattern;
  }

  Router router_;
  std::string params_;
};

TEST_F(RouterTest, ARouteIsFoundByMethodAndPath) {
  EXPECT_EQ(found(Method::get, "/"), "/");
  EXPECT_EQ(found(Method::get, "/health"), "/health");
  EXPECT_EQ(found(Method::post, "/workspaces"), "/workspaces");
  EXPECT_EQ(found(Method::get, "/workspaces/7"), "/workspaces/:id");
  EXPECT_EQ(params_, "id=7;");
  EXPECT_EQ(found(Method::post, "/workspaces/7/files/8/ack"), "/workspaces/:id/files/:fid/ack");
  EXPECT_EQ(params_, "id=7;fid=8;");
}

TEST_F(RouterTest, HeadFindsTheRouteOfGet) {
  EXPECT_EQ(found(Method::head, "/health"), "/health");
  EXPECT_EQ(found(Method::head, "/workspaces/7"), "/workspaces/:id");
  EXPECT_EQ(found(Method::head, "/registry/register"), "405 POST");
}

TEST_F(RouterTest, AnotherMethodGetsTheAllowedMethodsOfThePath) {
  EXPECT_EQ(found(Method::delete_, "/health"), "405 GET, HEAD");
  EXPECT_EQ(found(Method::put, "/workspaces"), "405 GET, HEAD, POST");
  EXPECT_EQ(found(Method::post, "/workspaces/7"), "405 GET, HEAD, PATCH, DELETE");
  EXPECT_EQ(found(Method::get, "/workspaces/7/files/8/ack"), "405 POST");
  EXPECT_EQ(found(Method::options, "/health"), "405 GET, HEAD");
}

TEST_F(RouterTest, APathThatIsNotInTheTableIsNotFound) {
  for (const char* path : {"/nothing",
                           "/healthy",
                           "/healt",
                           "/health/",
                           "//health",
                           "/Health",
                           "/workspaces/",
                           "/workspaces//",
                           "/workspaces//files/8/content",
                           "/workspaces/7/files//content",
                           "/workspaces/7/",
                           "//",
                           "///",
                           "/workspaces/7/files/8/content/x",
                           "/workspaces/7/files/8",
                           "health",
                           "",
                           "*",
                           "/he%61lth",
                           "/./health",
                           "/x/../health",
                           "/:id",
                           "/workspaces/7/files/:fid/contents"}) {
    EXPECT_EQ(found(Method::get, path), "404") << path;
  }
}

TEST_F(RouterTest, ParametersAreDecodedAndNeverEmpty) {
  EXPECT_EQ(found(Method::get, "/workspaces/a%2Fb%20c+d"), "/workspaces/:id");
  EXPECT_EQ(params_, "id=a/b c+d;");
  EXPECT_EQ(found(Method::get, "/workspaces/%2e%2e"), "/workspaces/:id");
  EXPECT_EQ(params_, "id=..;");
  EXPECT_EQ(found(Method::get, "/workspaces/:id"), "/workspaces/:id");
  EXPECT_EQ(params_, "id=:id;");
  for (const char* path :
       {"/workspaces/%", "/workspaces/%4", "/workspaces/%zz", "/workspaces/a%00b", "/workspaces/%00"})
    EXPECT_EQ(found(Method::get, path), "404") << path;
}

TEST_F(RouterTest, TwoRoutesForOneMethodAndPathAreABug) {
  EXPECT_THROW(router_.add(route(Method::get, "/health")), std::logic_error);
  EXPECT_THROW(router_.add(route(Method::get, "/workspaces/:other")), std::logic_error);
  EXPECT_THROW(router_.add(route(Method::post, "/workspaces/:a/files/:b/ack")), std::logic_error);
  EXPECT_NO_THROW(router_.add(route(Method::put, "/workspaces/:id")));
  EXPECT_EQ(found(Method::get, "/workspaces/7"), "/workspaces/:id");
}

TEST_F(RouterTest, APatternThatIsNoPathIsABug) {
  EXPECT_THROW(router_.add(route(Method::get, "")), std::logic_error);
  EXPECT_THROW(router_.add(route(Method::get, "health")), std::logic_error);
}

TEST_F(RouterTest, ALiteralSegmentGoesBeforeAParameterWhateverTheMethodAndTheOrder) {
  router_.add(route(Method::post, "/workspaces/:id"));
  router_.add(route(Method::post, "/workspaces/import"));
  router_.add(route(Method::get, "/workspaces/import"));
  EXPECT_EQ(found(Method::get, "/workspaces/import"), "/workspaces/import");
  EXPECT_EQ(found(Method::post, "/workspaces/import"), "/workspaces/import");
  EXPECT_EQ(found(Method::post, "/workspaces/7"), "/workspaces/:id");
}

TEST_F(RouterTest, APathThatFitsTwoPatternsHasTheMethodsOfBoth) {
  router_.add(route(Method::post, "/workspaces/import"));
  EXPECT_EQ(found(Method::get, "/workspaces/import"), "/workspaces/:id");
  EXPECT_EQ(params_, "id=import;");
  EXPECT_EQ(found(Method::post, "/workspaces/import"), "/workspaces/import");
  EXPECT_EQ(params_, "");
  EXPECT_EQ(found(Method::put, "/workspaces/import"), "405 GET, HEAD, POST, PATCH, DELETE");
}

TEST_F(RouterTest, AMillionSlashesAreNotFound) { EXPECT_EQ(found(Method::get, std::string(1'000'000, '/')), "404"); }

TEST(Refusal, NamesTheLimitOfTheRouteOrUsesItsOwnFaultForABodyThatEndsTooEarly) {
  const auto body_of = [](const Route& route, const Fault& fault) {
    return std::get<std::string>(refusal(route, fault, 7).content);
  };
  Route route;
  EXPECT_EQ(body_of(route, faults::body_cut),
            R"({"error":"the body ended before its announced length","code":"body_cut"})");
  EXPECT_EQ(body_of(route, faults::body_too_large),
            R"({"error":"the body exceeds what this route takes","code":"body_too_large","max":7})");
  route.cut = {400, "half_a_form", "the form has no end"};
  EXPECT_EQ(body_of(route, faults::body_cut), R"({"error":"the form has no end","code":"half_a_form"})");
  EXPECT_EQ(body_of(route, faults::timed_out),
            R"({"error":"the request did not arrive in time","code":"request_timeout"})");
}

}  // namespace
}  // namespace restante::http
