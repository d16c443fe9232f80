#include "api/handlers.h"

namespace restante::api {

http::Response health(const Context&, http::Request&) { return http::json(200, R"({"status":"ok"})"); }

http::Response ready(const Context& context, http::Request&) { return context.readiness.answer(context.clock); }

http::Response metrics_text(const Context& context, http::Request&) {
  http::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.content = context.metrics.text();
  return response;
}

}  // namespace restante::api
