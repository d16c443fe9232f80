#include "api/routes.h"

#include "api/guards.h"

namespace restante::api {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

constexpr std::string_view kDescription = "/openapi.yaml";

}  // namespace

void add_page(http::Router& router, const Context& context) {
  for (const PageFile& file : context.page) {
    http::Route route;
    route.method = http::Method::get;
    route.pattern = file.path;
    route.run = http::Run::at_once;
    // The description of the API is for programs, which use any Host.
    if (file.path != kDescription) route.admit = [&context](http::Request& request) { return page(context, request); };
    route.handle = [file](http::Request&) {
      http::Response response;
      response.content_type = file.content_type;
      response.headers.emplace_back("Content-Security-Policy", kPolicy);
      const bool hashed = file.path.starts_with("/assets/");
      response.headers.emplace_back("Cache-Control", hashed ? "public, max-age=31536000, immutable" : "no-cache");
      response.content = std::string(file.bytes);
      return response;
    };
    router.add(std::move(route));
  }
}

}  // namespace restante::api
