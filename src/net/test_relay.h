// Shared by the tests of Relay. RelayEdge is a TestEdge whose /up goes to another server, and which records the result.
// Seen is what that server received. Also bodies to send.
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "net/test_edge.h"
#include "net/test_other.h"

namespace restante::net {

using Outcome = http::Forwarded::Outcome;

inline constexpr std::string_view kDone =
    "HTTP/1.1 200 OK\r\nContent-Type: text/x-done\r\nContent-Length: 4\r\n\r\ndone";

// What the other server received of a request; guarded by a mutex, because a test reads it from its own thread.
class Seen {
 public:
  void add(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    text_ += bytes;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::string head() const { return text().substr(0, text().find("\r\n\r\n") + 4); }
  // The body as it arrived, framing included.
  std::string raw_body() const {
    const std::string all = text();
    const auto end = all.find("\r\n\r\n");
    return end == std::string::npos ? std::string() : all.substr(end + 4);
  }
  // The data of its chunks; a body that is not complete and chunked is a failure.
  std::string unchunked() const {
    std::string raw = raw_body();
    std::string data;
    for (;;) {
      const auto line = raw.find("\r\n");
      if (line == std::string::npos) {
        ADD_FAILURE() << "no end of the chunks";
        return data;
      }
      const std::size_t size = std::stoul(raw.substr(0, line), nullptr, 16);
      if (size == 0) {
        EXPECT_EQ(raw, "0\r\n\r\n");
        return data;
      }
      data += raw.substr(line + 2, size);
      EXPECT_EQ(raw.substr(line + 2 + size, 2), "\r\n");
      raw.erase(0, line + size + 4);
    }
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// Reads until `enough`; false when the sender closed before.
inline bool read_until(Seen& seen, int fd, const std::function<bool()>& enough) {
  char piece[64 << 10];
  while (!enough()) {
    const auto n = ::recv(fd, piece, sizeof piece, 0);
    if (n <= 0) return false;
    seen.add({piece, static_cast<std::size_t>(n)});
  }
  return true;
}

inline bool has_head(const Seen& seen) { return seen.text().find("\r\n\r\n") != std::string::npos; }

inline std::function<bool()> body_of(const Seen& seen, std::size_t size) {
  return [&seen, size] { return has_head(seen) && seen.raw_body().size() >= size; };
}

// Takes a body of that many bytes, framing included, and answers.
inline Other::Script taking(Seen& seen, std::size_t size, std::string reply = std::string(kDone)) {
  return [&seen, size, reply](Other& self, int fd) {
    if (read_until(seen, fd, body_of(seen, size))) self.send_bytes(fd, reply);
  };
}

inline std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 >> 5);
  return bytes;
}

inline std::string chunk(std::string_view bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return std::string(size) + std::string(bytes) + "\r\n";
}

inline constexpr std::string_view kChunkedHead = "POST /up HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

inline std::string sized_head(std::size_t size, std::string_view more = "") {
  return "POST /up HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "Content-Length: " + std::to_string(size) +
         "\r\n\r\n";
}

inline std::string_view name_of(Outcome outcome) {
  static constexpr std::string_view kNames[] = {"answered",  "refused_address", "unreachable", "timed_out",
                                                "bad_reply", "too_large",       "cut"};
  return kNames[static_cast<std::size_t>(outcome)];
}

// An edge whose /up goes to `url`, and the result of that.
class RelayEdge {
 public:
  explicit RelayEdge(std::string url, Options options = test_options()) : url_(std::move(url)), server(options) {
    server.stream("/up", [this](http::Request&) -> http::BodyHandling { return relay(); });
    server.get("/health", [](auto&) { return text("ok"); }, http::Run::at_once);
    server.start();
  }

  // The result, once there is one.
  http::Forwarded result() {
    finished_.wait();
    const std::lock_guard lock(mutex_);
    return came_;
  }
  std::chrono::milliseconds timeout = kCeiling;
  std::size_t reply_cap = 1 << 20;
  std::function<bool(std::string_view)> may_connect = [](std::string_view) { return true; };
  std::function<http::BodyHandling(const http::Forwarded&)> instead;

 private:
  std::unique_ptr<http::Relay> relay() {
    auto made = std::make_unique<http::Relay>();
    made->order.url = url_;
    made->order.content_type = "multipart/form-data; boundary=b";
    made->order.headers.emplace_back("Authorization", "Bearer inbound");
    made->order.timeout = timeout;
    made->order.reply_cap = reply_cap;
    made->order.may_connect = may_connect;
    made->order.then = [this](http::Forwarded came) {
      {
        const std::lock_guard lock(mutex_);
        came_ = came;
      }
      finished_.open();
      if (came.outcome != Outcome::answered) return text(std::string(name_of(came.outcome)), 502);
      http::Response answer = text(came.body, came.status);
      answer.headers.emplace_back("X-Type", came.content_type);
      return answer;
    };
    made->instead = instead;
    return made;
  }

  const std::string url_;
  std::mutex mutex_;
  http::Forwarded came_;
  Gate finished_;

 public:
  TestEdge server;
};

}  // namespace restante::net
