#include "http/multipart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "http/media_type.h"

namespace restante::http {
namespace {

using Status = MultipartStatus;

struct Part {
  std::string name;
  std::string filename;  // "(none)" for a field
  std::string type;
  std::string data;
  bool ended = false;

  bool operator==(const Part&) const = default;
};

class Recorder final : public MultipartSink {
 public:
  bool part_begin(const PartHeaders& headers) override {
    parts.push_back({headers.name, headers.filename.value_or("(none)"), headers.content_type, "", false});
    return go_on();
  }
  bool part_data(std::string_view span) override {
    EXPECT_FALSE(span.empty());
    parts.back().data += span;
    ++spans;
    if (outside(span)) copied += span.size();
    return go_on();
  }
  bool part_end() override {
    parts.back().ended = true;
    return go_on();
  }

  std::vector<Part> parts;
  std::string_view fed;  // the current piece, to distinguish spans into it from copies
  std::size_t spans = 0;
  std::size_t copied = 0;
  std::size_t calls = 0;
  std::size_t stop_at = 0;  // the number of the call that returns false

 private:
  bool go_on() { return ++calls != stop_at; }
  bool outside(std::string_view span) const {
    const std::less<const char*> before;
    return before(span.data(), fed.data()) || before(fed.data() + fed.size(), span.data() + span.size());
  }
};

struct Outcome {
  Status status;
  std::vector<Part> parts;

  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << "status " << static_cast<int>(outcome.status);
  for (const Part& part : outcome.parts) {
    *out << " {" << part.name << ", " << part.filename << ", " << part.type << ", " << part.data.size() << " bytes "
         << testing::PrintToString(part.data.substr(0, 80)) << (part.ended ? "}" : ", not ended}");
  }
}

// `pieces` are the offsets at which the body is cut.
Outcome parse(std::string_view body, const std::vector<std::size_t>& pieces = {}, std::string_view boundary = "b",
              const MultipartLimits& limits = {}) {
  Recorder sink;
  MultipartParser parser(boundary, sink, limits);
  std::size_t from = 0;
  for (const std::size_t to : pieces) {
    parser.feed(body.substr(from, to - from));
    from = to;
  }
  parser.feed(body.substr(from));
  return {parser.finish(), sink.parts};
}

std::vector<std::size_t> every(std::size_t step, std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = step; at < size; at += step) cuts.push_back(at);
  return cuts;
}

Status status_of(std::string_view body) { return parse(body).status; }

std::string times(std::size_t count, std::string_view text) {
  std::string out;
  out.reserve(count * text.size());
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string file_part(std::string_view data, std::string_view filename = "f") {
  return "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + std::string(filename) + "\"\r\n\r\n" +
         std::string(data) + "\r\n";
}

std::string field_part(std::string_view data) {
  return "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n" + std::string(data) + "\r\n";
}

std::string with_headers(std::string_view headers) { return "--b\r\n" + std::string(headers) + "\r\nx\r\n--b--\r\n"; }

const std::string kDisposition = "Content-Disposition: form-data; name=\"files\"; filename=\"f\"\r\n";

Part file(std::string_view data) { return {"files", "f", "", std::string(data), true}; }

struct Capture {
  std::string content_type;
  std::string body;
};

// curl's capture is chunked; the others are sized.
std::string dechunked(std::string_view body) {
  std::string out;
  for (;;) {
    const std::size_t line = body.find("\r\n");
    std::size_t size = 0;
    std::from_chars(body.data(), body.data() + line, size, 16);
    if (size == 0) return out;
    out += body.substr(line + 2, size);
    body.remove_prefix(line + 2 + size + 2);
  }
}

Capture load(const std::string& name) {
  std::ifstream in(std::string(RESTANTE_SOURCE_DIR) + "/tests/golden/multipart/" + name + ".http", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const std::size_t blank = all.find("\r\n\r\n");
  if (blank == std::string::npos) {
    ADD_FAILURE() << "no capture " << name;
    return {};
  }
  Capture capture{"", all.substr(blank + 4)};
  for (std::string_view line : split(std::string_view(all).substr(0, blank), '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view value = trim(line.substr(colon + 1));
    if (equal_ignoring_case(line.substr(0, colon), "content-type")) capture.content_type = value;
    if (equal_ignoring_case(line.substr(0, colon), "transfer-encoding")) capture.body = dechunked(capture.body);
  }
  return capture;
}

const std::string kBinary("\0\r\n--\xff\xfe\r\n", 9);
const std::string kOctets = "application/octet-stream";
const std::string kBrowserName = "a\"b\\c;é漢.txt";

struct Client {
  std::string name;
  std::vector<Part> parts;
};

const std::vector<Client>& clients() {
  static const std::vector<Client> all = {
      {"aiohttp",
       {{"files", "a\"b%5Cc%3B%C3%A9%E6%BC%A2.txt", "text/plain", "hello", true},
        {"files", "two.bin", kOctets, kBinary, true}}},
      {"chromium-nothing-chosen", {{"files", "", kOctets, "", true}}},
      {"chromium",
       {{"files", kBrowserName, "text/plain", "hello", true},
        {"files", "empty.bin", kOctets, "", true},
        {"files", "cr\r\nlf.txt", kOctets, "x", true},
        {"note", "(none)", "", "a text field", true}}},
      {"curl-chunked-expect", {{"files", "plain.txt", "text/plain", "hello", true}}},
      {"curl", {{"files", kBrowserName, "text/plain", "hello", true}, {"files", "two.bin", kOctets, kBinary, true}}},
      {"go", {{"files", kBrowserName, kOctets, "hello", true}, {"files", "two.bin", kOctets, kBinary, true}}},
      {"httpx", {{"files", kBrowserName, "text/plain", "hello", true}, {"files", "two.bin", kOctets, kBinary, true}}},
      {"requests", {{"files", kBrowserName, "text/plain", "hello", true}, {"files", "two.bin", "", kBinary, true}}},
      {"ruby", {{"files", kBrowserName, "text/plain", "hello", true}, {"files", "two.bin", kOctets, kBinary, true}}},
      {"undici", {{"files", kBrowserName, "text/plain", "hello", true}, {"files", "two.bin", kOctets, kBinary, true}}},
      {"uppy-xhr",
       {{"name", "(none)", "", kBrowserName, true},
        {"type", "(none)", "", "text/plain", true},
        {"files", kBrowserName, "text/plain", "hello", true}}},
  };
  return all;
}

TEST(Multipart, ReadsTheBodiesOfRealClients) {
  for (const Client& client : clients()) {
    const Capture capture = load(client.name);
    const auto boundary = form_data_boundary(capture.content_type);
    ASSERT_TRUE(boundary) << client.name;
    EXPECT_EQ(parse(capture.body, {}, *boundary), (Outcome{Status::ok, client.parts})) << client.name;
  }
}

// Bodies that end in every status that input alone can cause, each with near misses of the delimiter.
std::vector<std::string> varied_bodies() {
  const std::string good = "pre\r\n--bX\r\n" + file_part("\r\n--b\r\r\n\r\n-\r\n--\r\n--bX\r\n--b-\r\n--b-X") +
                           field_part("v") + "--b \t\r\n" + kDisposition +
                           "Content-Type: a/b\r\n\r\n\r\n--b-- \r\nepilogue\r\n--b\r\n";
  return {good,
          "--b--",
          file_part("x") + "--b",
          file_part("x") + "--b-- \r",
          file_part("x") + "--b x\r\n",
          file_part("x") + "--b--x",
          "--b\r\n" + kDisposition + kDisposition + "\r\nx\r\n--b--",
          std::string(1025, 'p') + "\r\n" + file_part("x") + "--b--",
          "--b\r\n" + times(17, "X: y\r\n") + "\r\nx\r\n--b--",
          "--b\r\nX: " + std::string(4100, 'y') + "\r\n\r\nx\r\n--b--",
          file_part("x", std::string(1025, 'n')) + "--b--",
          field_part(std::string(65'530, 'v') + "\r\n--bX-too-long") + "--b--",
          times(81, file_part("")) + "--b--",
          file_part("x") + "--b--\r\n" + std::string(65'537, 'e')};
}

TEST(Multipart, OneByteAtATimeGivesTheSameResult) {
  std::vector<Status> seen;
  for (const std::string& body : varied_bodies()) {
    const Outcome whole = parse(body);
    EXPECT_EQ(parse(body, every(1, body.size())), whole);
    EXPECT_EQ(parse(body, every(7, body.size())), whole);
    seen.push_back(whole.status);
  }
  for (const Status status :
       {Status::ok, Status::malformed, Status::preamble_too_large, Status::too_many_parts, Status::headers_too_large,
        Status::filename_too_long, Status::field_too_large, Status::epilogue_too_large}) {
    EXPECT_NE(std::find(seen.begin(), seen.end(), status), seen.end())
        << "no body ends in " << static_cast<int>(status);
  }
}

TEST(Multipart, EverySplitPointGivesTheSameResult) {
  for (const std::string& body : varied_bodies()) {
    const Outcome whole = parse(body);
    const std::size_t step = body.size() > 10'000 ? 997 : 1;
    for (std::size_t at = 0; at <= body.size(); at += step) ASSERT_EQ(parse(body, {at}), whole) << "cut at " << at;
  }
  for (const Client& client : clients()) {
    const Capture capture = load(client.name);
    const std::string boundary = form_data_boundary(capture.content_type).value_or("");
    const Outcome expected{Status::ok, client.parts};
    for (std::size_t at = 0; at <= capture.body.size(); ++at) {
      ASSERT_EQ(parse(capture.body, {at}, boundary), expected) << client.name << " cut at " << at;
    }
    EXPECT_EQ(parse(capture.body, every(1, capture.body.size()), boundary), expected) << client.name;
  }
}

TEST(Multipart, EveryPairOfSplitPointsGivesTheSameResult) {
  const std::string body = file_part("\r\n--b-\r\r\n--b") + "--b--";
  const Outcome whole = parse(body);
  for (std::size_t first = 0; first <= body.size(); ++first) {
    for (std::size_t second = first; second <= body.size(); ++second) ASSERT_EQ(parse(body, {first, second}), whole);
  }
}

TEST(Multipart, KeepsNearMissesOfTheDelimiterAsContent) {
  for (const std::string data :
       {"\r", "\n", "-", "\r\n", "\r\n--", "\r\n-b", "\r\n--a", "\r\n--bX", "\r\n--b-", "\r\n--b-X", "\r\r\n--bX",
        "--bX", "-", "--", "\n--b\n", "\r--b\r", "\r\n\r\n", "\r\n --b", "\r\n--B"}) {
    EXPECT_EQ(parse(file_part(data) + "--b--"), (Outcome{Status::ok, {file(data)}})) << testing::PrintToString(data);
  }
}

TEST(Multipart, AcceptsPaddingAfterTheBoundary) {
  EXPECT_EQ(parse("--b \t\r\n" + kDisposition + "\r\nx\r\n--b-- \t\r\n"), (Outcome{Status::ok, {file("x")}}));
  EXPECT_EQ(parse("--b \t\r\n" + kDisposition + "\r\nx\r\n--b-- \t"), (Outcome{Status::ok, {file("x")}}));
  EXPECT_EQ(status_of("--b" + std::string(5000, ' ') + "\r\n" + kDisposition + "\r\nx\r\n--b--"), Status::malformed);
}

TEST(Multipart, RefusesAnythingButALineEndAfterThePadding) {
  for (const std::string_view tail :
       {"--b x\r\n", "--b \r \n", "--b \n", "--b\n", "--b\rx", "--b--x", "--b-- x", "--b--\n", "--b--\rx"}) {
    const std::string body = file_part("x") + std::string(tail) + "\r\n" + file_part("y") + "--b--";
    EXPECT_EQ(parse(body), (Outcome{Status::malformed, {file("x")}})) << testing::PrintToString(tail);
  }
}

TEST(Multipart, RefusesLinesThatEndInLfAlone) {
  std::string body = file_part("x") + "--b--\r\n";
  std::erase(body, '\r');
  EXPECT_EQ(parse(body), (Outcome{Status::malformed, {}}));
  EXPECT_EQ(status_of(with_headers("Content-Disposition: form-data; name=\"files\"\n")), Status::malformed);
  EXPECT_EQ(status_of("--b\r\n" + kDisposition + "\nx\r\n--b--"), Status::malformed);
}

TEST(Multipart, RefusesABodyWithoutTheClosingDelimiter) {
  const std::string body = file_part("x") + file_part("y") + "--b--";
  for (std::size_t size = 0; size < body.size(); ++size) {
    ASSERT_EQ(status_of(std::string_view(body).substr(0, size)), Status::malformed) << "cut to " << size;
  }
  EXPECT_EQ(status_of(body), Status::ok);
}

TEST(Multipart, EndsAPartWhoseDelimiterFollowsTheBlankLine) {
  EXPECT_EQ(parse("--b\r\n" + kDisposition + "\r\n--b--"), (Outcome{Status::ok, {file("")}}));
  EXPECT_EQ(parse("--b\r\n" + kDisposition + "\r\n\r\n--b--"), (Outcome{Status::ok, {file("")}}));
}

TEST(Multipart, HasNoPartsWhenTheClosingDelimiterComesFirst) {
  EXPECT_EQ(parse("--b--\r\n"), (Outcome{Status::ok, {}}));
  EXPECT_EQ(parse("\r\n--b--"), (Outcome{Status::ok, {}}));
}

TEST(Multipart, DiscardsAPreambleOfOneKibibyteAndNoMore) {
  EXPECT_EQ(parse(std::string(1024, 'p') + "\r\n" + file_part("x") + "--b--"), (Outcome{Status::ok, {file("x")}}));
  EXPECT_EQ(status_of(std::string(1025, 'p') + "\r\n" + file_part("x") + "--b--"), Status::preamble_too_large);
  Recorder sink;
  MultipartParser parser("b", sink);
  EXPECT_EQ(parser.feed(times(512, "\r\n")), Status::ok);
  EXPECT_EQ(parser.feed("\r\n\r\n"), Status::preamble_too_large);
}

TEST(Multipart, DiscardsAnEpilogueOf64KibibytesAndNoMore) {
  EXPECT_EQ(status_of(file_part("x") + "--b--\r\n" + std::string(65'536, 'e')), Status::ok);
  EXPECT_EQ(status_of(file_part("x") + "--b--\r\n" + std::string(65'537, 'e')), Status::epilogue_too_large);
  EXPECT_EQ(parse(file_part("x") + "--b--\r\n\r\n" + file_part("y") + "--b--"), (Outcome{Status::ok, {file("x")}}));
}

TEST(Multipart, HoldsEightyPartsAndNoMore) {
  EXPECT_EQ(parse(times(80, field_part("")) + "--b--").parts.size(), 80u);
  EXPECT_EQ(status_of(times(80, field_part("")) + "--b--"), Status::ok);
  const Outcome many = parse(times(10'000, field_part("")) + "--b--");
  EXPECT_EQ(many.status, Status::too_many_parts);
  EXPECT_EQ(many.parts.size(), 80u);
}

TEST(Multipart, HoldsFourKibibytesOfPartHeadersAndNoMore) {
  const std::size_t rest = kDisposition.size() + std::string_view("X: \r\n\r\n").size();
  EXPECT_EQ(status_of(with_headers(kDisposition + "X: " + std::string(4096 - rest, 'y') + "\r\n")), Status::ok);
  EXPECT_EQ(status_of(with_headers(kDisposition + "X: " + std::string(4097 - rest, 'y') + "\r\n")),
            Status::headers_too_large);
  Recorder sink;
  MultipartParser parser("b", sink);
  parser.feed("--b\r\nX: ");
  EXPECT_EQ(parser.feed(std::string(10 * 1024, 'y')), Status::headers_too_large);
}

TEST(Multipart, HoldsSixteenHeaderLinesAndNoMore) {
  EXPECT_EQ(status_of(with_headers(kDisposition + times(15, "X: y\r\n"))), Status::ok);
  EXPECT_EQ(status_of(with_headers(kDisposition + times(16, "X: y\r\n"))), Status::headers_too_large);
  EXPECT_EQ(status_of(with_headers(kDisposition + times(1000, "X:\r\n"))), Status::headers_too_large);
}

TEST(Multipart, HoldsAFilenameOfOneKibibyteAndNoMore) {
  EXPECT_EQ(status_of(file_part("x", std::string(1024, 'n')) + "--b--"), Status::ok);
  EXPECT_EQ(status_of(file_part("x", std::string(1025, 'n')) + "--b--"), Status::filename_too_long);
}

TEST(Multipart, LimitsFieldsButNotFiles) {
  EXPECT_EQ(status_of(field_part(std::string(65'536, 'v')) + "--b--"), Status::ok);
  const Outcome cut = parse(field_part(std::string(65'537, 'v')) + "--b--");
  EXPECT_EQ(cut.status, Status::field_too_large);
  EXPECT_EQ(cut.parts.at(0).data.size(), 65'536u);
  EXPECT_EQ(status_of(file_part(std::string(65'537, 'v')) + "--b--"), Status::ok);
}

TEST(Multipart, ReadsHeadersInAnyOrderAndCase) {
  const Outcome outcome = parse(
      "--b\r\ncontent-type:\ttext/plain; charset=utf-8 \r\nX-Other-2: \x1b\r\nCONTENT-DISPOSITION:FORM-DATA; NAME=n; "
      "FILENAME=f\r\n\r\n"
      "x\r\n--b--");
  EXPECT_EQ(outcome, (Outcome{Status::ok, {{"n", "f", "text/plain; charset=utf-8", "x", true}}}));
}

TEST(Multipart, NeverDecodesATransferEncoding) {
  EXPECT_EQ(parse("--b\r\nContent-Transfer-Encoding: base64\r\n" + kDisposition + "\r\naGVsbG8=\r\n--b--"),
            (Outcome{Status::ok, {file("aGVsbG8=")}}));
}

TEST(Multipart, RefusesBrokenPartHeaders) {
  for (const std::string& headers :
       {std::string(), std::string("Content-Type: text/plain\r\n"), kDisposition + kDisposition,
        kDisposition + "content-disposition: form-data; name=\"other\"\r\n",
        kDisposition + "Content-Type: a/b\r\nContent-Type: a/b\r\n", kDisposition + "no colon\r\n",
        kDisposition + ": y\r\n", kDisposition + "X : y\r\n", kDisposition + " folded: y\r\n",
        kDisposition + "\tfolded\r\n", kDisposition + "X: a\rb\r\n", kDisposition + std::string("X: a\0b\r\n", 8),
        kDisposition + "X: a\r\r\n", std::string("Content-Disposition: attachment; name=\"files\"; filename=\"f\"\r\n"),
        std::string("Content-Disposition: form-data; filename=\"f\"\r\n"),
        std::string("Content-Disposition: form-data\r\n"), std::string("Content-Disposition:\r\n"),
        std::string("Content-Disposition: form-data; name=\"files\"; filename=\"f\r\n"),
        std::string("Content-Disposition: form-data; name=a; filename=\"f\"; filename=\"g\"\r\n")}) {
    EXPECT_EQ(parse(with_headers(headers)), (Outcome{Status::malformed, {}})) << testing::PrintToString(headers);
  }
}

TEST(Multipart, NeverTakesAFileWithAMalformedNameForAField) {
  const std::string headers = "Content-Disposition: form-data; name=\"files\"; filename*=UTF-8''%zz\r\n";
  EXPECT_EQ(parse(file_part("x") + with_headers(headers)), (Outcome{Status::malformed, {file("x")}}));
}

TEST(Multipart, StopsAtTheBeginningOfADelimiterThatTurnedOutToBeContent) {
  Recorder sink;
  sink.stop_at = 3;  // part_begin, "abc", the bytes that were held back
  MultipartParser parser("xyz", sink);
  EXPECT_EQ(parser.feed("--xyz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nabc\r\n--x"),
            Status::ok);
  EXPECT_EQ(sink.calls, 2u);
  EXPECT_EQ(parser.feed("-and more\r\n--xyz--\r\n"), Status::stopped);
  EXPECT_EQ(sink.parts.at(0).data, "abc\r\n--x");
  EXPECT_EQ(sink.calls, 3u);
}

TEST(Multipart, StopsForGoodWhenTheSinkReturnsFalse) {
  const std::string body = file_part("x") + field_part("y") + "--b--";
  for (std::size_t call = 1; call <= 6; ++call) {
    Recorder sink;
    sink.stop_at = call;
    MultipartParser parser("b", sink);
    EXPECT_EQ(parser.feed(body), Status::stopped);
    EXPECT_EQ(parser.feed(body), Status::stopped);
    EXPECT_EQ(parser.finish(), Status::stopped);
    EXPECT_EQ(sink.calls, call);
  }
}

TEST(Multipart, KeepsTheFirstFailure) {
  Recorder sink;
  MultipartParser parser("b", sink);
  EXPECT_EQ(parser.feed(std::string(2000, 'p')), Status::preamble_too_large);
  EXPECT_EQ(parser.feed("\r\n" + file_part("x") + "--b--"), Status::preamble_too_large);
  EXPECT_EQ(parser.finish(), Status::preamble_too_large);
  EXPECT_EQ(sink.calls, 0u);
}

TEST(Multipart, WorksWithEveryBoundaryOfTheStandard) {
  for (const std::string boundary : {"-", "--", "----", "a b", "'()+_,-./:=?", "0"}) {
    const std::string data = "\r\n--" + boundary + "x\r\n-" + boundary;
    const std::string body = "--" + boundary + "\r\n" + kDisposition + "\r\n" + data + "\r\n--" + boundary + "--\r\n";
    const Outcome whole = parse(body, {}, boundary);
    EXPECT_EQ(whole, (Outcome{Status::ok, {file(data)}})) << boundary;
    EXPECT_EQ(parse(body, every(1, body.size()), boundary), whole) << boundary;
  }
}

// All hostile content is passed on completely, in at most two spans a piece, with almost nothing copied: work and
// events do not grow with the number of near misses.
TEST(Multipart, HostileContentCostsNoMoreThanPlainContent) {
  const std::string boundary(70, 'b');
  const std::string near_miss = "\r\n--" + boundary.substr(1);
  const std::string head = "--" + boundary + "\r\n" + kDisposition + "\r\n";
  for (const std::string& data :
       {times(1'000'000, near_miss.substr(0, 12)), times(100'000, near_miss), times(100'000, near_miss + "bX"),
        std::string(8'000'000, '\r'), std::string(8'000'000, '\n'), times(4'000'000, "\r\n"),
        std::string(8'000'000, '-'), std::string(8'000'000, 'x')}) {
    const std::string body = head + data + "\r\n--" + boundary + "--\r\n";
    for (const std::size_t piece : {body.size(), std::size_t{4096}, std::size_t{61}}) {
      Recorder sink;
      MultipartParser parser(boundary, sink);
      std::size_t pieces = 0;
      for (std::size_t at = 0; at < body.size(); at += piece, ++pieces) {
        sink.fed = std::string_view(body).substr(at, piece);
        ASSERT_EQ(parser.feed(sink.fed), Status::ok);
      }
      ASSERT_EQ(parser.finish(), Status::ok);
      ASSERT_EQ(sink.parts.size(), 1u);
      EXPECT_TRUE(sink.parts[0].data == data);
      EXPECT_LE(sink.spans, 2 * pieces);
      EXPECT_LE(sink.copied, pieces * (boundary.size() + 5));
      EXPECT_TRUE(sink.copied == 0 || piece != body.size());
    }
  }
}

}  // namespace
}  // namespace restante::http
