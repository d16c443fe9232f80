// Router: one table of routes, matched by method and path. A pattern consists of literal segments and ':name' segments.
// The limits of a route and its guard are in its row. Filled at start, read-only afterwards, so any thread may match.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "http/body_sink.h"
#include "http/fault.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::http {

// What a route does with a body.
enum class Body {
  none,      // an announced body is refused
  optional,  // read into memory if there is one
  required,  // read into memory; without framing → 411
  stream,    // passed on while it arrives
};

// Where a route runs. `at_once` is for routes that answer from memory in microseconds: they run on the I/O thread, and
// their answer is always a string.
enum class Run { at_once, on_pool };

struct Route {
  Method method = Method::get;
  std::string pattern;
  Body body = Body::none;
  Run run = Run::on_pool;
  // Decides from the head alone whether the request may continue; runs before a byte of the body is read or 100 is
  // sent.
  std::function<std::optional<Response>(Request&)> admit;
  std::function<Response(Request&)> handle;       // all but stream
  std::function<BodyHandling(Request&)> receive;  // stream
  std::uint64_t body_limit = 0;                   // 0 = the server's limit for this kind of body
  Fault cut = faults::body_cut;                   // the answer to a body that ends too early
  bool answers_a_state = false;  // a 5xx is the state that was asked for: no failed request, and no line in the log
};

// The answer to a request whose body the route does not accept; `limit` is the most that it accepts.
Response refusal(const Route& route, const Fault& fault, std::uint64_t limit);

class Router {
 public:
  // Patterns are checked: two routes for one method and path are a bug and throw std::logic_error.
  void add(Route route);

  struct Match {
    const Route* route = nullptr;  // null: no such path, or not with this method
    std::size_t index = 0;         // of the route in routes()
    std::string allow;             // methods of the path, when the request has another method
  };
  // Fills the request's path parameters. HEAD finds the GET route. When several patterns match, a literal segment wins
  // over a parameter, and a pattern with the method wins over one without it.
  Match match(Request& request) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  struct Pattern {
    std::vector<std::string> segments;
    std::vector<std::size_t> routes;
  };

  std::vector<Route> routes_;
  std::unordered_map<std::string, std::size_t> literal_;            // of GET, without parameters
  std::unordered_map<std::size_t, std::vector<Pattern>> patterns_;  // all, by number of segments
};

}  // namespace restante::http
