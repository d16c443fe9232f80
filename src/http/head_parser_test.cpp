#include "http/head_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace restante::http {
namespace {

// The result for a head as one word: "ok" or the status and code of its fault.
std::string word(const std::optional<Fault>& fault) {
  return fault ? std::to_string(fault->status) + " " + std::string(fault->code) : "ok";
}

std::string parsed(std::string_view head, Request& request, const Limits& limits = {}) {
  return word(parse_head(head, limits, request));
}

// As a connection does it: the buffer grows from `first` by `step` bytes, is scanned each time, and parsed when
// complete.
std::string read_in_steps(std::string_view bytes, const Limits& limits, std::size_t first, std::size_t step) {
  HeadScanner scanner;
  for (std::size_t size = std::min(first, bytes.size());; size = std::min(size + step, bytes.size())) {
    const auto outcome = scanner.scan(bytes.substr(0, size), limits);
    if (outcome.fault) return word(outcome.fault);
    if (outcome.head_size > 0) {
      Request request;
      const auto fault = parse_head(bytes.substr(0, outcome.head_size), limits, request);
      return word(fault) + "/" + std::to_string(outcome.head_size);
    }
    if (size == bytes.size()) return "more";
  }
}

std::string read(std::string_view bytes, const Limits& limits = {}, std::size_t step = 1 << 20) {
  return read_in_steps(bytes, limits, step, step);
}

std::string request(std::string_view line, std::string_view headers = "") {
  return std::string(line) + "\r\nHost: h\r\n" + std::string(headers) + "\r\n";
}

std::string with(std::string_view headers) { return request("POST /a HTTP/1.1", headers); }

std::string without_size(std::string outcome) { return outcome.substr(0, outcome.find('/')); }

struct Row {
  std::string_view bytes;
  std::string_view outcome;
};

constexpr std::string_view kBad = "400 bad_request";
constexpr std::string_view kCoding = "501 transfer_coding_unknown";
constexpr std::string_view kMethod = "501 method_unknown";

TEST(HeadParser, ARequestIsReadIntoItsParts) {
  Request request;
  ASSERT_EQ(parsed("POST /workspaces/1/a2a?wait=5&x=%20 HTTP/1.1\r\nHost: restante.example:8080\r\nX-Empty:\r\n"
                   "content-LENGTH:\t 12 \r\nName: caf\xC3\xA9 \tx\r\nExpect: 100-Continue\r\nX-Empty: 2\r\n\r\n",
                   request),
            "ok");
  EXPECT_EQ(request.method, Method::post);
  EXPECT_EQ(request.path, "/workspaces/1/a2a");
  EXPECT_EQ(request.query, "wait=5&x=%20");
  EXPECT_EQ(request.host, "restante.example:8080");
  EXPECT_EQ(request.content_length, 12u);
  EXPECT_TRUE(request.keep_alive && request.expect_continue && request.has_body());
  EXPECT_FALSE(request.chunked || request.http_1_0);
  ASSERT_EQ(request.headers.size(), 6u);
  EXPECT_EQ(request.header("name"), "caf\xC3\xA9 \tx");
  EXPECT_EQ(request.header_count("x-empty"), 2u);
  EXPECT_EQ(request.header("x-empty"), "");
}

TEST(HeadParser, EveryMethodWeKnowIsReadInCapitalsOnly) {
  for (std::size_t i = 0; i < kMethods; ++i) {
    const auto method = static_cast<Method>(i);
    Request known;
    ASSERT_EQ(parsed(request(std::string(name_of(method)) + " / HTTP/1.1"), known), "ok");
    EXPECT_EQ(known.method, method);
  }
  for (const char* name : {"FOO", "get", "Get", "TRACE", "CONNECT", "GETT", "GE", "PROPFIND", "!#$%&'*+-.^_`|~"}) {
    EXPECT_EQ(without_size(read(request(std::string(name) + " / HTTP/1.1"))), kMethod) << name;
  }
  EXPECT_EQ(without_size(read(request("OPTIONS * HTTP/1.1"))), kMethod);
  EXPECT_EQ(without_size(read(request("CONNECT example.com:443 HTTP/1.1"))), kMethod);
}

TEST(HeadParser, ARequestLineTwoParsersCouldReadDifferentlyIsRefused) {
  for (const char* line : {"GET  / HTTP/1.1",
                           "GET / HTTP/1.1 ",
                           "GET /  HTTP/1.1",
                           " GET / HTTP/1.1",
                           "GET /",
                           "GET",
                           "GET / ",
                           "GET HTTP/1.1",
                           "GET\t/\tHTTP/1.1",
                           "GET / HTTP/1.2",
                           "GET / HTTP/1.9",
                           "GET / HTTP/2.0",
                           "GET / HTTP/0.9",
                           "GET / http/1.1",
                           "GET / HTTP/1.10",
                           "GET / HTTP/01.1",
                           "GET / HTTP/1,1",
                           "GET / HTTPS/1.1",
                           "GET /a#b HTTP/1.1",
                           "GET /# HTTP/1.1",
                           "GET /\xC3\xA9 HTTP/1.1",
                           "GET /\x7f HTTP/1.1",
                           "GET /\x01 HTTP/1.1",
                           "GET /\r/ HTTP/1.1",
                           "GET a HTTP/1.1",
                           "GET ?x HTTP/1.1",
                           "GET h:80 HTTP/1.1",
                           "G(T / HTTP/1.1",
                           "G\xC3\xA9T / HTTP/1.1",
                           "GET http:// HTTP/1.1",
                           "GET http:///a HTTP/1.1",
                           "GET http://u@h/ HTTP/1.1",
                           "GET http://h?x HTTP/1.1",
                           "GET ftp://h/ HTTP/1.1",
                           "GET http://h\\@e/ HTTP/1.1",
                           "GET /a b HTTP/1.1",
                           "PRI * HTTP/2.0"}) {
    EXPECT_EQ(without_size(read(request(line))), kBad) << line;
  }
}

TEST(HeadParser, AnAbsoluteTargetNamesTheHostItself) {
  Request whole;
  ASSERT_EQ(parsed("GET HTTP://Example.com:80/a?b HTTP/1.1\r\nHost: other\r\n\r\n", whole), "ok");
  EXPECT_EQ(whole.host, "Example.com:80");
  EXPECT_EQ(whole.path, "/a");
  EXPECT_EQ(whole.query, "b");
  Request bare;
  ASSERT_EQ(parsed("GET https://[::1]:8443 HTTP/1.1\r\nHost: other\r\n\r\n", bare), "ok");
  EXPECT_EQ(bare.host, "[::1]:8443");
  EXPECT_EQ(bare.path, "/");
  EXPECT_EQ(without_size(read("GET http://h/ HTTP/1.1\r\n\r\n")), kBad);
}

TEST(HeadParser, FramingThatCouldSmuggleIsRefused) {
  const Row rows[] = {
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", kBad},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", kBad},
      {"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", kBad},
      {"Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", kBad},
      {"Transfer-Encoding: xchunked\r\n", kCoding},
      {"Transfer-Encoding: chunked, identity\r\n", kCoding},
      {"Transfer-Encoding: gzip, chunked\r\n", kCoding},
      {"Transfer-Encoding: chunked, chunked\r\n", kCoding},
      {"Transfer-Encoding: chunked;q=1\r\n", kCoding},
      {"Transfer-Encoding: \"chunked\"\r\n", kCoding},
      {"Transfer-Encoding: identity\r\n", kCoding},
      {"Transfer-Encoding:\r\n", kCoding},
      {"Transfer-Encoding: \vchunked\r\n", kBad},
      {"Transfer-Encoding: chunked\x7f\r\n", kBad},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", kBad},
      {"Transfer-Encoding: xchunked\r\nTransfer-Encoding: chunked\r\n", kBad},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", kBad},
      {"Transfer-Encoding:\r\n chunked\r\n", kBad},
      {"Transfer-Encoding : chunked\r\n", kBad},
      {"Transfer\x01-Encoding: chunked\r\n", kBad},
      {"X: y\r\n\tTransfer-Encoding: chunked\r\n", kBad},
      {"Content-Length: 5\r\nContent-Length: 6\r\n", kBad},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", kBad},
      {"Content-Length: 5\r\ncontent-length: 5\r\n", kBad},
      {"Content-Length: 5, 5\r\n", kBad},
      {"Content-Length: 5, 6\r\n", kBad},
      {"Content-Length: 005\r\n", kBad},
      {"Content-Length: 00\r\n", kBad},
      {"Content-Length: +5\r\n", kBad},
      {"Content-Length: -5\r\n", kBad},
      {"Content-Length: -1\r\n", kBad},
      {"Content-Length: 0x5\r\n", kBad},
      {"Content-Length: 5 0\r\n", kBad},
      {"Content-Length: 1e3\r\n", kBad},
      {"Content-Length: 5.0\r\n", kBad},
      {"Content-Length: 5;\r\n", kBad},
      {"Content-Length:\r\n", kBad},
      {"Content-Length: \r\n", kBad},
      {"Content-Length: 18446744073709551616\r\n", kBad},
      {"Content-Length: 18446744073709551621\r\n", kBad},
      {"Content-Length: \xD9\xA5\r\n", kBad},
      {"Content-Length: 5\vx\r\n", kBad},
  };
  for (const Row& row : rows) EXPECT_EQ(without_size(read(with(row.bytes))), row.outcome) << row.bytes;
  EXPECT_EQ(without_size(read("POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")), kBad);
}

TEST(HeadParser, FramingThatIsPlainIsRead) {
  Request chunked;
  ASSERT_EQ(parsed(with("TRANSFER-encoding: \t Chunked \t\r\n"), chunked), "ok");
  EXPECT_TRUE(chunked.chunked && chunked.has_body());
  EXPECT_EQ(chunked.content_length, std::nullopt);
  Request empty;
  ASSERT_EQ(parsed(with("Content-Length: 0\r\n"), empty), "ok");
  EXPECT_EQ(empty.content_length, 0u);
  EXPECT_FALSE(empty.has_body());
  Request huge;
  ASSERT_EQ(parsed(with("Content-Length: 18446744073709551615\r\n"), huge), "ok");
  EXPECT_EQ(huge.content_length, 18446744073709551615u);
  Request none;
  ASSERT_EQ(parsed(with(""), none), "ok");
  EXPECT_FALSE(none.has_body() || none.content_length);
}

TEST(HeadParser, HeaderLinesTwoParsersCouldReadDifferentlyAreRefused) {
  for (const std::string_view line :
       {" folded: x\r\n", "\tfolded: x\r\n",  "X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "X : y\r\n",    "X\t: y\r\n",
        ": y\r\n",        "no colon\r\n",     "X\r\n",          "X: a\rb\r\n",     "X: \r y\r\n",  "X: y\r\r\n",
        "X: a\nY: b\r\n", "X: y\n",           "X: \x01\r\n",    "X: \x1b[0m\r\n",  "X: \x7f\r\n",  "X: \v\r\n",
        "X: \f\r\n",      "X\xC3\xA9: y\r\n", "X(y): z\r\n",    "X[]: z\r\n",      "\"X\": z\r\n", "X@: z\r\n",
        "X/: z\r\n",      "X{}: z\r\n",       "\r: z\r\n",      "X\r: z\r\n"}) {
    EXPECT_EQ(without_size(read(with(line))), kBad) << line;
  }
  EXPECT_EQ(without_size(read(with(std::string_view("X: a\0b\r\n", 8)))), kBad);
  EXPECT_EQ(without_size(read(with(std::string_view("X\0: b\r\n", 7)))), kBad);
  for (const std::string_view line : {"X:y\r\n", "X:\r\n", "X: :\r\n", "X: a:b\r\n", "X: a\tb\r\n", "X: \xFF\xFE\r\n",
                                      "!#$%&'*+-.^_`|~09az: y\r\n"}) {
    EXPECT_EQ(without_size(read(with(line))), "ok") << line;
  }
}

TEST(HeadParser, AMissingAndASecondHostHaveTheirOwnSentences) {
  const auto sentence = [](std::string_view head) {
    Request request;
    const auto fault = parse_head(head, {}, request);
    return fault ? fault->sentence : "ok";
  };
  EXPECT_EQ(sentence("GET / HTTP/1.1\r\n\r\n"), "an HTTP/1.1 request must have a Host header; this one has none");
  EXPECT_EQ(sentence("GET http://a/ HTTP/1.1\r\n\r\n"),
            "an HTTP/1.1 request must have a Host header; this one has none");
  for (const std::string_view second : {"Host: a", "host: b"}) {
    for (const std::string_view version : {"HTTP/1.1", "HTTP/1.0"}) {
      EXPECT_EQ(sentence("GET / " + std::string(version) + "\r\nHost: a\r\n" + std::string(second) + "\r\n\r\n"),
                "a request must have one Host header; this one has more");
    }
  }
  EXPECT_EQ(sentence("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), faults::malformed.sentence);
}

TEST(HeadParser, HostIsGivenOnceAndIsAHost) {
  EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\n\r\n")), kBad);
  EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n")), kBad);
  EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n")), kBad);
  EXPECT_EQ(without_size(read("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n")), kBad);
  for (const char* host :
       {"", " ", "a b", "a/b", "a@b", "a,b", "http://a", "a\\b", "a?b", "a#b", "\xC3\xA9", "a\tb", "a;b"}) {
    EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n")), kBad) << host;
  }
  for (const char* host : {"localhost", "127.0.0.1:8080", "[::1]:8080", "a-b_c.example", "[fe80::1%25eth0]"}) {
    EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n")), "ok") << host;
  }
  const std::string longest(255, 'a');
  EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\nHost: " + longest + "\r\n\r\n")), "ok");
  EXPECT_EQ(without_size(read("GET / HTTP/1.1\r\nHost: " + longest + "a\r\n\r\n")), kBad);
  Request old;
  ASSERT_EQ(parsed("GET / HTTP/1.0\r\n\r\n", old), "ok");
  EXPECT_EQ(old.host, "");
  EXPECT_TRUE(old.http_1_0);
}

TEST(HeadParser, TheConnectionIsKeptAsTheClientAsksAndCloseAlwaysWins) {
  const auto lives = [](std::string_view version, std::string_view headers) {
    Request r;
    EXPECT_EQ(parsed("GET / " + std::string(version) + "\r\nHost: h\r\n" + std::string(headers) + "\r\n", r), "ok");
    return r.keep_alive;
  };
  for (const char* headers : {"", "Connection: keep-alive\r\n", "Connection: closed, x-close\r\n"}) {
    EXPECT_TRUE(lives("HTTP/1.1", headers)) << headers;
  }
  for (const char* headers :
       {"Connection: Close\r\n", "Connection: x ,\tclose\r\n", "Connection: x\r\nConnection: close\r\n"}) {
    EXPECT_FALSE(lives("HTTP/1.1", headers)) << headers;
  }
  EXPECT_TRUE(lives("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  for (const char* headers : {"", "Connection: keep-alive, close\r\n", "Connection: close, keep-alive\r\n",
                              "Connection: close\r\nConnection: keep-alive\r\n"}) {
    EXPECT_FALSE(lives("HTTP/1.0", headers)) << headers;
  }
}

TEST(HeadParser, ExpectationsEncodingsAndUpgradesAreChecked) {
  EXPECT_EQ(without_size(read(with("Expect: foo\r\n"))), "417 expectation_failed");
  EXPECT_EQ(without_size(read(with("Expect:\r\n"))), "417 expectation_failed");
  EXPECT_EQ(without_size(read(with("Expect: 100-continue, foo\r\n"))), "417 expectation_failed");
  EXPECT_EQ(without_size(read(with("Content-Encoding: gzip\r\n"))), "415 content_encoding_unsupported");
  EXPECT_EQ(without_size(read(with("Content-Encoding: Identity\r\n"))), "ok");
  EXPECT_EQ(without_size(read(with("Upgrade: h2c\r\nHTTP2-Settings: x\r\nConnection: Upgrade\r\n"))), "ok");
  EXPECT_EQ(without_size(read("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), kBad);
  Request old;
  ASSERT_EQ(parsed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", old), "ok");
  EXPECT_FALSE(old.expect_continue);
}

TEST(HeadParser, TheRequestLineLimitIsExact) {
  const Limits limits{.request_line = 32, .header_bytes = 1024, .header_count = 10, .json_body = 0, .stream_body = 0};
  for (const std::string_view before : {"", "\r\n"}) {
    const std::string fits = std::string(before) + request("GET /" + std::string(32 - 14, 'a') + " HTTP/1.1");
    const std::string over = std::string(before) + request("GET /" + std::string(33 - 14, 'a') + " HTTP/1.1");
    for (std::size_t step = 1; step <= over.size(); ++step) {
      EXPECT_EQ(without_size(read(fits, limits, step)), "ok") << step;
      EXPECT_EQ(read(over, limits, step), "414 uri_too_long") << step;
    }
  }
  EXPECT_EQ(read(std::string(35, 'A'), limits), "414 uri_too_long");
  EXPECT_EQ(read(std::string(32, 'A') + "\r", limits), "more");
  const std::string line = "GET /" + std::string(8192 - 14, 'a') + " HTTP/1.1";
  EXPECT_EQ(without_size(read(request(line))), "ok");
  EXPECT_EQ(read(request(line + "a")), "414 uri_too_long");
}

TEST(HeadParser, TheHeaderBytesLimitIsExact) {
  const Limits limits{.request_line = 100, .header_bytes = 64, .header_count = 10, .json_body = 0, .stream_body = 0};
  const std::string fits = request("GET / HTTP/1.1", "X: " + std::string(64 - 9 - 5, 'a') + "\r\n");
  const std::string over = request("GET / HTTP/1.1", "X: " + std::string(65 - 9 - 5, 'a') + "\r\n");
  for (std::size_t step = 1; step <= over.size(); ++step) {
    EXPECT_EQ(without_size(read(fits, limits, step)), "ok") << step;
    EXPECT_EQ(read(over, limits, step), "431 headers_too_large") << step;
  }
  EXPECT_EQ(without_size(read(request("GET / HTTP/1.1", "X: " + std::string(16384 - 9 - 5, 'a') + "\r\n"), {}, 1)),
            "ok");
  EXPECT_EQ(read(request("GET / HTTP/1.1", "X: " + std::string(16385 - 9 - 5, 'a') + "\r\n"), {}, 1),
            "431 headers_too_large");
}

TEST(HeadParser, TheHeaderCountLimitIsExact) {
  std::string headers;
  for (int i = 0; i < 99; ++i) headers += "a:\r\n";
  EXPECT_EQ(without_size(read(with(headers))), "ok");
  EXPECT_EQ(without_size(read(with(headers), {}, 1)), "ok");
  EXPECT_EQ(read(with(headers + "a:\r\n")), "431 headers_too_large");
  EXPECT_EQ(read(with(headers + "a:\r\n"), {}, 1), "431 headers_too_large");
  for (int i = 0; i < 2000; ++i) headers += "a:\r\n";
  EXPECT_EQ(read(with(headers)), "431 headers_too_large");
  Request direct;
  EXPECT_EQ(parsed(with("a:\r\nb:\r\n"), direct, {.header_count = 2}), "431 headers_too_large");
}

TEST(HeadParser, AByteThatCannotBeginARequestIsRefusedAtOnce) {
  for (int c = 0; c < 256; ++c) {
    const std::string first(1, static_cast<char>(c));
    const bool token =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
        (c > 0 && std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos);
    EXPECT_EQ(read(first), token || c == '\r' ? "more" : kBad) << c;
    EXPECT_EQ(read("\r\n" + first), token || c == '\r' ? "more" : kBad) << c;
  }
  EXPECT_EQ(read("\x16\x03\x01\x02"), kBad);
}

TEST(HeadParser, OneEmptyLineBeforeTheRequestIsTolerated) {
  Request r;
  const std::string head = request("GET / HTTP/1.1");
  EXPECT_EQ(read("\r\n" + head), "ok/" + std::to_string(head.size() + 2));
  ASSERT_EQ(parsed("\r\n" + head, r), "ok");
  EXPECT_EQ(r.head, head);
  EXPECT_EQ(read("\r\n\r\n" + head), kBad);
  EXPECT_EQ(read("\n" + head), kBad);
  EXPECT_EQ(without_size(read("\r" + head)), kBad);
  EXPECT_EQ(read("\r\n"), "more");
}

TEST(HeadParser, BytesAfterTheHeadAreNotTouched) {
  const std::string head = with("Content-Length: 5\r\n");
  EXPECT_EQ(read(head + "helloGET / HTTP/1.1\r\n\r\n"), "ok/" + std::to_string(head.size()));
  for (std::size_t size = 0; size < head.size(); ++size) EXPECT_EQ(read(head.substr(0, size)), "more") << size;
}

TEST(HeadParser, EverySplitGivesTheSameOutcome) {
  const Limits tight{.request_line = 24, .header_bytes = 40, .header_count = 3, .json_body = 0, .stream_body = 0};
  const std::string heads[] = {
      with("Content-Length: 5\r\n") + "hello",
      "\r\n" + request("GET /abc?x=1 HTTP/1.1", "A: b\r\n"),
      "\r\n\x16\x03\x01 and so on and so on and so on\r\n\r\n",
      "GET / HTTP/1.1\nHost: h\n\n",
      "GET / HTTP/1.1\r\nHost: h\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\n\n",
      "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\nHost: h\r\n\r\n",
      "GET /aaaaaaaaaaa HTTP/1.1\nHost: h\r\n\r\n",
      "GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\r\n",
      "GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\r\n",
      "GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n",
      "GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\rx",
      "GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\n",
      with("a:\r\nb:\r\n"),
      with("a:\r\nb:\r\nc:\r\n"),
      with("a:\r\nb:\r\nc:\n"),
      "\r\r\nGET / HTTP/1.1\r\n\r\n",
      "\r\n\rGET / HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
  };
  for (const std::string& head : heads) {
    for (const Limits& limits : {Limits{}, tight}) {
      const std::string whole = read(head, limits);
      for (std::size_t step = 1; step <= head.size(); ++step)
        EXPECT_EQ(read(head, limits, step), whole) << head << step;
      for (std::size_t cut = 1; cut < head.size(); ++cut)
        EXPECT_EQ(read_in_steps(head, limits, cut, head.size()), whole) << head << cut;
    }
  }
}

TEST(HeadParser, BytesThatAreNoCompleteHeadAreRefusedByTheParserItself) {
  for (const std::string_view bytes :
       {"", "\r\n", "\r\n\r\n", "\r\n\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\r\nrest", "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
        "X", "\n\n\n\n"}) {
    Request r;
    EXPECT_EQ(parsed(bytes, r), kBad) << bytes;
  }
}

}  // namespace
}  // namespace restante::http
