// TestApi: the whole route table on a real store, called without a socket: raw head → parser → router → guard →
// handler. It also completes what a handler leaves to the edge (a commit, a file). For tests of api/ only.
#pragma once
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/context.h"
#include "api/guards.h"
#include "api/routes.h"
#include "base/seal.h"
#include "desk/test_desk.h"
#include "http/head_parser.h"
#include "http/router.h"

namespace restante::api {

struct Answer {
  int status = 0;
  std::vector<http::Header> headers;
  std::string body;
  bool held = false;                       // a poll that would wait; body is its empty answer
  bool admitted = false;                   // the guard let it through
  std::shared_ptr<http::Events> stream{};  // of live events: not read yet

  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct Ask {
  std::string method = "GET";
  std::string target;
  std::vector<http::Header> headers;
  std::string body;
  std::string peer = "127.0.0.1";
  bool secure = false;
  bool guard_only = false;  // stop after the guard

  Ask& with(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  Ask& bearer(std::string_view secret) { return with("Authorization", "Bearer " + std::string(secret)); }
  Ask& json(std::string text) {
    body = std::move(text);
    return with("Content-Type", "application/json");
  }
};

struct TestApi {
  explicit TestApi(desk::UploadRules upload_rules = {}, Place new_bytes = Place::dir)
      : desk(std::move(upload_rules), new_bytes) {
    context.series = &series;
    context.blob_check = &desk.blob_check;
    context.blob_moves = &desk.blob_moves;
    context.clock_check = &clock_check;
    add_routes(router, context);
  }

  Answer ask(const Ask& asked) {
    http::Request request;
    std::string head = asked.method + " " + asked.target + " HTTP/1.1\r\n";
    bool has_host = false;
    for (const auto& [name, value] : asked.headers) {
      head += name + ": " + value + "\r\n";
      has_host = has_host || name == "Host";
    }
    if (!has_host) head += "Host: localhost:8080\r\n";
    if (!asked.body.empty()) head += "Content-Length: " + std::to_string(asked.body.size()) + "\r\n";
    head += "\r\n";
    Answer answer;
    if (http::parse_head(head, http::Limits(), request)) {
      ADD_FAILURE() << "not a request: " << head;
      return answer;
    }
    request.peer = asked.peer;
    request.secure = asked.secure;
    request.body = asked.body;
    const auto match = router.match(request);
    if (!match.route) {
      answer.status = match.allow.empty() ? 404 : 405;
      return answer;
    }
    if (match.route->admit) {
      if (auto refused = match.route->admit(request)) return settle(std::move(*refused));
    }
    answer.admitted = true;
    if (asked.guard_only) return answer;
    answer = settle(match.route->receive ? stream(*match.route, request) : match.route->handle(request));
    answer.admitted = true;
    return answer;
  }
  Answer get(std::string target, std::string_view secret) {
    Ask asked;
    asked.target = std::move(target);
    return ask(asked.bearer(secret));
  }
  Answer post(std::string target, std::string_view secret, std::string json) {
    Ask asked;
    asked.method = "POST";
    asked.target = std::move(target);
    return ask(asked.bearer(secret).json(std::move(json)));
  }
  // Uploads one file with the page's form; returns its id.
  std::string upload(std::string_view secret, std::string_view name = "a.txt", std::string_view bytes = "hello",
                     std::string_view type = "text/plain") {
    Ask asked;
    asked.method = "POST";
    asked.target = path("/chat/uploads");
    asked.bearer(secret).with("Content-Type", "multipart/form-data; boundary=b");
    asked.body = "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + std::string(name) +
                 "\"\r\nContent-Type: " + std::string(type) + "\r\n\r\n" + std::string(bytes) + "\r\n--b--\r\n";
    const Answer staged = ask(asked);
    EXPECT_EQ(staged.status, 200) << staged.body;
    const auto at = staged.body.find(workspace.text() + "/");
    return at == std::string::npos ? std::string() : staged.body.substr(at + 37, 36);
  }
  std::string path(std::string_view rest) const { return "/workspaces/" + workspace.text() + std::string(rest); }

  static http::Response stream(const http::Route& route, http::Request& request) {
    auto handling = route.receive(request);
    if (auto* answered = std::get_if<http::Response>(&handling)) return std::move(*answered);
    if (auto* relay = std::get_if<std::unique_ptr<http::Relay>>(&handling)) return http::forward((*relay)->order);
    const auto& sink = std::get<std::unique_ptr<http::BodySink>>(handling);
    for (std::size_t at = 0; at < request.body.size(); at += 7) {
      if (auto refused = sink->take(std::string_view(request.body).substr(at, 7))) return std::move(*refused);
    }
    return sink->finish();
  }
  static Answer settle(http::Response response) {
    if (const auto* later = std::get_if<std::shared_ptr<http::Later>>(&response.content)) {
      std::promise<void> done;
      (*later)->when_done([&] { done.set_value(); });
      done.get_future().wait();
      return settle((*later)->answer());
    }
    if (const auto* wait = std::get_if<std::shared_ptr<http::HeldPoll>>(&response.content)) {
      do {
        if (auto found = (*wait)->attempt()) return settle(std::move(*found));
      } while ((*wait)->unfinished && (*wait)->unfinished());
      Answer empty = settle((*wait)->give_up());
      empty.held = (*wait)->patience.count() > 0;
      return empty;
    }
    if (const auto* events = std::get_if<std::shared_ptr<http::Events>>(&response.content)) {
      Answer opened{200, response.headers, {}};
      opened.stream = *events;
      return opened;
    }
    Answer answer{response.status, response.headers, {}};
    if (!response.content_type.empty()) answer.headers.emplace_back("Content-Type", response.content_type);
    if (const auto* slice = std::get_if<std::shared_ptr<http::FileSlice>>(&response.content)) {
      const http::FileSlice& file = **slice;
      answer.body.resize(file.length);
      if (file.fd >= 0) {
        EXPECT_EQ(::pread(file.fd, answer.body.data(), file.length, static_cast<off_t>(file.offset)),
                  static_cast<ssize_t>(file.length));
      }
      for (std::size_t got = 0; file.fd < 0 && got < file.length;) {
        const std::size_t n = file.read(file.offset + got, std::span(answer.body).subspan(got));
        if (n == 0) ADD_FAILURE() << "it is shorter than promised";
        got = n == 0 ? file.length : got + n;
      }
    } else if (const auto* text = std::get_if<std::string>(&response.content)) {
      answer.body = *text;
    } else {
      ADD_FAILURE() << "an answer of another kind";
    }
    return answer;
  }

  // A workspace whose agent is called at this URL.
  Workspace make_called_workspace(std::string url) {
    Workspace called;
    called.id = desk.make_workspace(DeliveryMode::push);
    called.delivery_mode = DeliveryMode::push;
    called.url = std::move(url);
    return called;
  }

  desk::TestDesk desk;
  desk::Inbox inbox{*desk.store, desk.presence, desk.event_bus, desk.clock};
  desk::ChatHistory chat_history{*desk.store};
  desk::Events events{*desk.store, desk.event_bus, desk.principals};
  Seal seal{SealKey{}};
  desk::Callbacks callbacks{desk.clock, {}};
  desk::InboundSecrets secrets{*desk.store, seal, desk.clock, desk.log};
  desk::UploadPushes upload_pushes{*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics};
  Push push{callbacks, secrets, upload_pushes, {}, std::chrono::seconds(1), [](const std::string&) {
              return std::vector<std::string>{"93.184.216.34"};
            }};
  desk::InvalidTokenLimiter invalid_token_limiter{desk.clock, 10'000};
  desk::Tokens tokens{*desk.store, desk.bell, desk.clock, desk.log};
  desk::Access access{*desk.store, desk::Roots::talk};
  desk::Series series{desk.metrics, desk.clock, {}};
  desk::ClockCheck clock_check{*desk.store, desk.clock, desk.log, desk.metrics, {}};
  Context context{desk.clock,
                  desk.metrics,
                  desk.principals,
                  invalid_token_limiter,
                  desk.workspaces,
                  tokens,
                  access,
                  inbox,
                  chat_history,
                  events,
                  desk.messages,
                  desk.idempotency_locks,
                  desk.uploads,
                  desk.outgoing,
                  desk.sweep,
                  desk.delegations,
                  push,
                  {{"database", [this] { desk.store->check(); }}},
                  {{"/", "text/html", "<html>"}},
                  "https://post.example",
                  {"server.example"}};
  http::Router router;

  WorkspaceId workspace = desk.make_workspace();
  WorkspaceId other = desk.make_workspace();
  std::string admin = desk.admin_secret;
  std::string agent = desk.give_token(TokenKind::workspace, workspace);
  std::string sender = desk.give_token(TokenKind::sender, workspace);
};

}  // namespace restante::api
