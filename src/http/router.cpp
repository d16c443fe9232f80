#include "http/router.h"

#include <algorithm>
#include <array>
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

// Which segments are parameters: the more literal pattern sorts first.
std::vector<bool> shape(const std::vector<std::string>& pattern) {
  std::vector<bool> parameters;
  for (const std::string& segment : pattern) parameters.push_back(is_parameter(segment));
  return parameters;
}

bool same(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_parameter(a[i]) != is_parameter(b[i]) || (!is_parameter(a[i]) && a[i] != b[i])) return false;
  }
  return true;
}

bool fill(const std::vector<std::string>& pattern, const std::vector<std::string_view>& path, Request& request) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_parameter(pattern[i])) continue;
    auto value = percent_decode(path[i]);
    if (!value) return false;
    request.path_params.emplace_back(std::string_view(pattern[i]).substr(1), std::move(*value));
  }
  return true;
}

std::string join(const std::array<bool, kMethods>& methods) {
  std::string out;
  for (std::size_t i = 0; i < kMethods; ++i) {
    if (!methods[i]) continue;
    if (!out.empty()) out += ", ";
    out += name_of(static_cast<Method>(i));
  }
  return out;
}

}  // namespace

Response refusal(const Route& route, const Fault& fault, std::uint64_t limit) {
  if (fault.code == faults::body_cut.code) return to_response(route.cut);
  return to_response(fault, fault.status == 413 ? limit : 0);
}

void Router::add(Route route) {
  if (!route.pattern.starts_with('/')) throw std::logic_error("not a path: " + route.pattern);
  const auto views = split(std::string_view(route.pattern).substr(1), '/');
  std::vector<std::string> segments(views.begin(), views.end());
  auto& group = patterns_[segments.size()];
  auto pattern = std::find_if(group.begin(), group.end(), [&](const auto& p) { return same(p.segments, segments); });
  if (pattern == group.end()) {
    const auto after =
        std::find_if(group.begin(), group.end(), [&](const auto& p) { return shape(segments) < shape(p.segments); });
    pattern = group.insert(after, Pattern{std::move(segments), {}});
  }
  for (const std::size_t other : pattern->routes) {
    if (routes_[other].method == route.method) throw std::logic_error("two routes for " + route.pattern);
  }
  pattern->routes.push_back(routes_.size());
  if (route.pattern.find(':') == std::string::npos && route.method == Method::get)
    literal_[route.pattern] = routes_.size();
  routes_.push_back(std::move(route));
}

Router::Match Router::match(Request& request) const {
  const Method wanted = request.method == Method::head ? Method::get : request.method;
  if (wanted == Method::get) {
    // The frequently used small routes have no parameters: their path is not split.
    const auto known = literal_.find(std::string(request.path));
    if (known != literal_.end()) return {&routes_[known->second], known->second, {}};
  }
  if (!request.path.starts_with('/')) return {};
  const auto segments = split(request.path.substr(1), '/');
  const auto group = patterns_.find(segments.size());
  if (group == patterns_.end()) return {};
  std::array<bool, kMethods> allowed{};
  for (const Pattern& pattern : group->second) {
    if (!fits(pattern.segments, segments)) continue;
    for (const std::size_t index : pattern.routes) {
      const Method method = routes_[index].method;
      if (method == wanted) {
        if (!fill(pattern.segments, segments, request)) return {};
        return {&routes_[index], index, {}};
      }
      allowed[static_cast<std::size_t>(method)] = true;
      if (method == Method::get) allowed[static_cast<std::size_t>(Method::head)] = true;
    }
  }
  return {nullptr, 0, join(allowed)};
}

}  // namespace restante::http
