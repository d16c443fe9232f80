#include "api/handlers.h"

#include "base/json_writer.h"

namespace restante::api {
namespace {

http::Response readiness(const Context& context) {
  bool all = true;
  std::string body = json_object([&](JsonWriter& out) {
    out.object("checks", [&] {
      for (const ReadinessCheck& check : context.readiness) {
        bool passed = true;
        try {
          check.check();
        } catch (const std::exception&) {
          // The reason is in the log; the answer only names the check.
          passed = all = false;
        }
        out.member(check.name, passed ? "ok" : "failed");
      }
    });
    out.member("status", all ? "ready" : "not_ready");
  });
  http::Response response = http::json(all ? 200 : 503, std::move(body));
  if (!all) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

http::Response health(const Context&, http::Request&) { return http::json(200, R"({"status":"ok"})"); }

// Any client may ask, and the place of the files may hang.
http::Response ready(const Context& context, http::Request&) {
  return http::from_bytes([&context] { return readiness(context); });
}

http::Response metrics_text(const Context& context, http::Request&) {
  http::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.content = context.metrics.text();
  return response;
}

}  // namespace restante::api
