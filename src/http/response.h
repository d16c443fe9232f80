// Response: an answer as a value. A handler says what is to be answered; net/ performs it. Bytes and files are sent as
// they are; Later is an answer that is true once a commit is durable; Wait is "not yet"; Events is a stream that stays
// open; Forward asks another server first. Values belong to whoever holds them; the functions inside run on a pool
// thread, never two of one response at the same time.
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

// Part of something open; `owner` keeps it open until it is sent. Where there is no descriptor, read() is asked for the
// bytes, piece by piece, on a pool thread; nothing means that they cannot be had, and the connection is cut.
struct FileSlice {
  std::shared_ptr<const void> owner;
  int fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  // Where sending takes long, may_go_on() is asked once and after every ring of a topic; a no cuts it off.
  std::vector<std::string> topics = {};
  std::function<bool()> may_go_on = {};
  std::function<std::size_t(std::uint64_t at, std::span<char> into)> read = {};
};

// What answering may wait for: rows, or the bytes of files, which may live on another machine than the rows.
enum class MayBlock { no, on_rows, on_bytes };

// answer() is asked once when_done has called back.
struct Later {
  std::function<void(std::function<void()>)> when_done;
  std::function<Response()> answer;
  MayBlock may_block = MayBlock::no;
};

// A held poll: attempt() now and after every ring of a topic, until it answers or the patience is over.
struct HeldPoll {
  std::vector<std::string> topics;
  std::string owner;  // whose cap of held requests this counts against
  std::chrono::milliseconds patience{0};
  std::function<std::optional<Response>()> attempt;
  std::function<Response()> give_up;  // the empty answer: time is up, the server stops, or the owner holds too many
};

// Server-sent events: next() now, after every ring, and again once a step that said there is more has been sent;
// nothing = the stream ends.
struct Events {
  struct Step {
    std::string text;  // whole events; may be empty
    bool more = false;
  };
  std::vector<std::string> topics;
  std::string owner;                             // whose cap of held requests this counts against
  std::chrono::milliseconds keep_alive{15'000};  // a comment this often, so that proxies do not give up
  std::function<std::optional<Step>()> next;
};

// What came of asking another server.
struct Forwarded {
  // cut: the body we were passing on did not come whole; whoever sent it is told by the edge.
  enum class Outcome { answered, refused_address, unreachable, timed_out, bad_reply, too_large, cut };
  Outcome outcome = Outcome::unreachable;
  bool connected = false;  // if not, the other server has seen nothing at all
  std::uint64_t sent = 0;  // bytes of the body that went out
  int status = 0;          // 200 … 599 when it answered
  std::string content_type;
  std::string body;
  std::chrono::milliseconds took{0};
};

// One attempt at one URL; redirects are answers, not orders.
struct Forward {
  std::string url;
  std::vector<Header> headers;
  std::string content_type;
  std::string body;
  std::chrono::milliseconds timeout{30'000};
  std::size_t reply_cap = 1 << 20;
  // Asked for every resolved address, as text, right before connecting to it; one refusal refuses all.
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
// What `answer` makes, on the threads for bytes.
Response from_bytes(std::function<Response()> answer);
Response held_poll(HeldPoll value);
Response events(Events value);
Response forward(Forward value);

// The answer `to_response` makes of a commit's value, once it is durable.
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
