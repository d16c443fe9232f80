// Response: an answer as a value. A handler returns it, net/ performs it. Strings and files are sent as they are. Later
// is an answer that is sent once a commit is durable. HeldPoll is "not yet". Events is a stream that stays open.
// Forward calls another server first. A value belongs to its holder. The functions inside run on a pool thread, never
// two of one response at the same time.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/commit.h"

namespace restante::http {

struct Response;
using Header = std::pair<std::string, std::string>;

// Part of an open file or blob; `owner` keeps it open until it is sent. Without a descriptor, read() returns the
// content piece by piece, on a pool thread; 0 means that the content cannot be read, and the connection is cut. A file
// is read on a pool thread, too, unless the kernel sends it.
struct FileSlice {
  std::shared_ptr<const void> owner;
  int fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  // While a long answer is sent, may_go_on() is called once and after every ring of a topic; false ends the connection.
  std::vector<std::string> topics = {};
  std::function<bool()> may_go_on = {};
  std::function<std::size_t(std::uint64_t at, std::span<char> into)> read = {};
};

// What the answer may wait for: the database, or the content of files, which may be on another machine.
enum class MayBlock { no, on_rows, on_bytes };

// answer() is called once when_done has called back.
struct Later {
  std::function<void(std::function<void()>)> when_done;
  std::function<Response()> answer;
  MayBlock may_block = MayBlock::no;
};

// A held poll: attempt() is called now and after every ring of a topic, until it answers or `patience` has passed.
struct HeldPoll {
  std::vector<std::string> topics;
  std::string owner;  // the poll counts against this owner's limit of held requests
  std::chrono::milliseconds patience{0};
  std::function<std::optional<Response>()> attempt;
  std::function<Response()> give_up;  // the empty answer: time is up, the server stops, or too many are held
  // True after an attempt that stopped early, so that jobs of others can run: it is called again at once, also when
  // `patience` is over.
  std::function<bool()> unfinished = {};
  std::string tenant = {};  // the attempts of one tenant take turns with those of others; empty: those of this client
};

// Server-sent events. next() is called now, after every ring, and again after a step with `more` was sent. The stream
// ends when it returns nothing.
struct Events {
  struct Step {
    std::string text;  // whole events; may be empty
    bool more = false;
  };
  std::vector<std::string> topics;
  std::string owner;                             // the stream counts against this owner's limit of held requests
  std::chrono::milliseconds keep_alive{15'000};  // a comment is sent this often, so that proxies keep the connection
  std::function<std::optional<Step>()> next;
  std::string tenant = {};  // as in HeldPoll
};

// The result of a call to another server.
struct Forwarded {
  // cut: the body that was being passed on did not arrive completely; the edge answers its sender.
  enum class Outcome { answered, refused_address, unreachable, timed_out, bad_reply, too_large, cut };
  Outcome outcome = Outcome::unreachable;
  bool connected = false;  // if false, the other server has received nothing at all
  std::uint64_t sent = 0;  // bytes of the body that were sent
  int status = 0;          // 200 … 599 when it answered
  std::string content_type;
  std::string body;
  std::chrono::milliseconds took{0};
};

// One attempt at one URL; redirects are returned as answers and not followed.
struct Forward {
  std::string url;
  std::vector<Header> headers;
  std::string content_type;
  std::string body;
  std::chrono::milliseconds timeout{30'000};
  std::size_t reply_cap = 1 << 20;
  // Called for every resolved address, as text, right before the connection to it; one refusal refuses all.
  std::function<bool(std::string_view address)> may_connect;
  std::function<Response(Forwarded)> then;
};

struct Response {
  int status = 200;
  std::string_view content_type;  // a constant; stored types go into headers
  std::vector<Header> headers;
  using Content = std::variant<std::string, std::shared_ptr<FileSlice>, std::shared_ptr<Later>,
                               std::shared_ptr<HeldPoll>, std::shared_ptr<Events>, std::shared_ptr<Forward>>;
  Content content;
};

inline constexpr std::string_view kJson = "application/json";

Response json(int status, std::string body);
// The result of `answer`, which runs on the threads that may block on file content.
Response from_bytes(std::function<Response()> answer);
Response held_poll(HeldPoll value);
Response events(Events value);
Response forward(Forward value);

// The answer that `to_response` makes from a commit's value, once it is durable.
template <class T, class ToResponse>
Response after(Commit<T> commit, ToResponse to_response) {
  auto later = std::make_shared<Later>();
  later->when_done = [commit](std::function<void()> callback) mutable { commit.on_done(std::move(callback)); };
  later->answer = [commit, to_response = std::move(to_response)]() mutable -> Response {
    return to_response(commit.take());
  };
  Response response;
  response.content = std::move(later);
  return response;
}

// The reason phrase; for codes we never send, "Unknown".
std::string_view reason(int status);

}  // namespace restante::http
