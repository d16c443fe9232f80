#include "http/router.h"

#include <stdexcept>

#include "base/text.h"

namespace restante::http {
namespace {

bool is_parameter(std::string_view segment) { return !segment.empty() && segment.front() == ':'; }

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string_view>& path) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_parameter(pattern[i]) ? path[i].empty() : pattern[i] != path[i]) return false;
  }
  return true;
}

bool same_shape(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_parameter(a[i]) != is_parameter(b[i]) || (!is_parameter(a[i]) && a[i] != b[i])) return false;
  }
  return true;
}

}  // namespace

void Router::add(Route route) {
  const auto views = split(std::string_view(route.pattern).substr(1), '/');
  const std::vector<std::string> segments(views.begin(), views.end());
  auto& group = patterns_[segments.size()];
  Pattern* pattern = nullptr;
  for (Pattern& known : group) {
    if (same_shape(known.segments, segments)) pattern = &known;
  }
  if (!pattern) pattern = &group.emplace_back(Pattern{segments, {}});
  for (const std::size_t other : pattern->routes) {
    if (routes_[other].method == route.method) throw std::logic_error("two routes for " + route.pattern);
  }
  pattern->routes.push_back(routes_.size());
  if (route.pattern.find(':') == std::string::npos && route.method == Method::get)
    literal_[route.pattern] = routes_.size();
  routes_.push_back(std::move(route));
}

const Router::Pattern* Router::find(const std::vector<std::string_view>& segments) const {
  const auto group = patterns_.find(segments.size());
  if (group == patterns_.end()) return nullptr;
  for (const Pattern& pattern : group->second) {
    if (fits(pattern.segments, segments)) return &pattern;
  }
  return nullptr;
}

Router::Match Router::match(Request& request) const {
  const Method wanted = request.method == Method::head ? Method::get : request.method;
  if (wanted == Method::get) {
    // The hot small routes have no parameters: no splitting for them.
    const auto known = literal_.find(std::string(request.path));
    if (known != literal_.end()) return {&routes_[known->second], known->second, {}};
  }
  if (request.path.empty() || request.path.front() != '/') return {};
  const auto segments = split(request.path.substr(1), '/');
  const Pattern* pattern = find(segments);
  if (!pattern) return {};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!is_parameter(pattern->segments[i])) continue;
    auto value = percent_decode(segments[i]);
    if (!value) return {};
    request.path_params.emplace_back(std::string_view(pattern->segments[i]).substr(1), std::move(*value));
  }
  Match match;
  for (const std::size_t index : pattern->routes) {
    const Route& route = routes_[index];
    if (route.method == wanted) return {&route, index, {}};
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += name_of(route.method);
    if (route.method == Method::get) match.allow += ", HEAD";
  }
  return match;
}

}  // namespace restante::http
