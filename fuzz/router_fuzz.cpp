// The first byte chooses the method, the rest is a path. Promises: the router finds the same route as a simple
// comparison with every route; parameters are parts of the path, never empty, never with a NUL; Allow lists exactly the
// methods that would be found.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "fuzz/oracle.h"
#include "http/router.h"

namespace {

using namespace restante;
using namespace restante::http;

Router make_router() {
  Router router;
  const std::pair<Method, const char*> rows[] = {{Method::get, "/"},
                                                 {Method::get, "/a"},
                                                 {Method::post, "/a"},
                                                 {Method::get, "/a/:x"},
                                                 {Method::patch, "/a/:x"},
                                                 {Method::post, "/a/b"},
                                                 {Method::get, "/a/:x/c/:y"},
                                                 {Method::delete_, "/a/b/c/:y"},
                                                 {Method::put, "/:x/b"},
                                                 {Method::get, "/a/:x/c/d"},
                                                 {Method::options, "/a/:x/:y"},
                                                 {Method::get, "/a//b"}};
  for (const auto& [method, pattern] : rows) {
    Route route;
    route.method = method;
    route.pattern = pattern;
    router.add(std::move(route));
  }
  return router;
}

bool fits(const Route& route, std::string_view path) {
  const auto pattern = split(route.pattern, '/');
  const auto segments = split(path, '/');
  if (pattern.size() != segments.size() || !path.starts_with('/')) return false;
  for (std::size_t i = 1; i < pattern.size(); ++i) {
    const bool parameter = pattern[i].starts_with(':');
    if (parameter ? segments[i].empty() : pattern[i] != segments[i]) return false;
  }
  return true;
}

// '0' for a literal, '1' for a parameter: the smaller one goes first.
std::string rank(const Route& route) {
  std::string out;
  for (const auto segment : split(route.pattern, '/')) out += segment.starts_with(':') ? '1' : '0';
  return out;
}

const Route* expected(const Router& router, Method method, std::string_view path) {
  const Method wanted = method == Method::head ? Method::get : method;
  const Route* best = nullptr;
  for (const Route& route : router.routes()) {
    if (route.method != wanted || !fits(route, path)) continue;
    if (!best || rank(route) < rank(*best)) best = &route;
  }
  return best;
}

std::string allowed(const Router& router, std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < kMethods; ++i) {
    const auto method = static_cast<Method>(i);
    if (expected(router, method, path)) out += (out.empty() ? "" : ", ") + std::string(name_of(method));
  }
  return out;
}

void check(const Router& router, Method method, std::string_view path) {
  Request request;
  request.method = method;
  request.path = path;
  const auto match = router.match(request);
  const Route* route = expected(router, method, path);
  if (!route) {
    ORACLE(!match.route && match.allow == allowed(router, path));
    return;
  }
  const auto pattern = split(route->pattern, '/');
  const auto segments = split(path, '/');
  std::vector<std::pair<std::string_view, std::optional<std::string>>> params;
  for (std::size_t i = 1; i < pattern.size(); ++i) {
    if (pattern[i].starts_with(':')) params.emplace_back(pattern[i].substr(1), percent_decode(segments[i]));
  }
  const bool readable = std::ranges::all_of(params, [](const auto& param) { return param.second.has_value(); });
  ORACLE((match.route != nullptr) == readable && match.allow.empty());
  if (!readable) return;
  ORACLE(match.route == route && match.index == static_cast<std::size_t>(route - router.routes().data()));
  ORACLE(request.path_params.size() == params.size());
  for (const auto& [name, value] : params) {
    ORACLE(request.param(name) == *value && !value->empty());
    ORACLE(path.find('\0') != std::string_view::npos || value->find('\0') == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Router router = make_router();
  if (size == 0) return 0;
  check(router, static_cast<Method>(data[0] % kMethods), {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
