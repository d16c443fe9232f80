#include "http/chunked.h"

#include <gtest/gtest.h>

#include <string>

namespace restante::http {
namespace {

using State = ChunkedDecoder::State;

// The result of `bytes` fed in pieces of `step`: the state, the data, and where the body ended.
struct Outcome {
  State state = State::more;
  std::string data;
  std::size_t used = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome feed(ChunkedDecoder& decoder, std::string_view bytes, Outcome outcome = {}) {
  for (;;) {
    const auto step = decoder.next(bytes);
    outcome.used += step.used;
    outcome.state = step.state;
    if (step.state != State::data) return outcome;
    EXPECT_EQ(step.data.data() + step.data.size(), bytes.data() + step.used);
    EXPECT_FALSE(step.data.empty());
    outcome.data += step.data;
    bytes.remove_prefix(step.used);
  }
}

Outcome decode(std::string_view bytes, std::size_t step = std::string_view::npos) {
  ChunkedDecoder decoder;
  Outcome outcome = feed(decoder, {});
  for (; !bytes.empty() && outcome.state == State::more; bytes.remove_prefix(std::min(step, bytes.size())))
    outcome = feed(decoder, bytes.substr(0, step), outcome);
  if (outcome.state == State::malformed) outcome.used = 0;
  return outcome;
}

TEST(Chunked, TheDataIsReturnedAndTheEndIsFound) {
  const Outcome outcome = decode("5\r\nhello\r\n1;a=b\r\n \r\n00A\r\n0123456789\r\n0\r\n\r\nGET /");
  EXPECT_EQ(outcome.state, State::done);
  EXPECT_EQ(outcome.data, "hello 0123456789");
  EXPECT_EQ(outcome.used, 42u);
  EXPECT_EQ(decode("0\r\n\r\n"), (Outcome{State::done, "", 5}));
  EXPECT_EQ(decode("000;x\r\n\r\n").state, State::done);
  EXPECT_EQ(decode("a\r\n\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n").data, "\r\n0\r\n\r\n0\r\n");
}

TEST(Chunked, AfterTheEndNoMoreBytesAreUsed) {
  ChunkedDecoder decoder;
  ASSERT_EQ(feed(decoder, "0\r\n\r\n").state, State::done);
  const auto after = decoder.next("5\r\nhello");
  EXPECT_EQ(after.state, State::done);
  EXPECT_EQ(after.used, 0u);
  EXPECT_EQ(decoder.next({}).state, State::done);
}

TEST(Chunked, EverySplitGivesTheSameResult) {
  for (const std::string_view bytes :
       {"5\r\nhello\r\n1;a=b\r\n \r\n00A\r\n0123456789\r\n0\r\n\r\nGET /", "3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "2\r\nab\r\n2\r\ncd", "1;\x01\r\na",
        "11111111111111111\r\n"}) {
    const Outcome whole = decode(bytes);
    for (std::size_t step = 1; step <= bytes.size(); ++step) EXPECT_EQ(decode(bytes, step), whole) << bytes << step;
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      ChunkedDecoder decoder;
      Outcome outcome = feed(decoder, bytes.substr(0, cut));
      if (outcome.state == State::more) outcome = feed(decoder, bytes.substr(cut), outcome);
      if (outcome.state == State::malformed) outcome.used = 0;
      EXPECT_EQ(outcome, whole) << bytes << cut;
    }
  }
}

TEST(Chunked, InputThatIsNotStrictlyChunkedIsRefused) {
  for (const std::string_view bytes : {"\r\n",
                                       "\n",
                                       ";x\r\n",
                                       "0x5\r\n",
                                       "5 \r\n",
                                       " 5\r\n",
                                       "5 ;x\r\n",
                                       "-1\r\n",
                                       "+5\r\n",
                                       "g\r\n",
                                       "5\n",
                                       "5\rx",
                                       "5\r\r",
                                       "5,\r\n",
                                       "5.\r\n",
                                       "\t5\r\n",
                                       "1\r\nab",
                                       "1\r\na\n",
                                       "1\r\na\rb",
                                       "1\r\na5\r\n",
                                       "1\r\na\r\n\r\n",
                                       "0\r\nx",
                                       "0\n",
                                       "0\r\n\n",
                                       "0\r\n\rx",
                                       "0\r\nAuthorization: Bearer evil\r\n\r\n",
                                       "0\r\nContent-Length: 5\r\n\r\n",
                                       "0\r\n \r\n",
                                       "5;a\n",
                                       "5;a\x01",
                                       "5;\x7f",
                                       "5;a\rb",
                                       "10000000000000000\r\n",
                                       "00000000000000005\r\n",
                                       "FFFFFFFFFFFFFFFFF\r\n"}) {
    EXPECT_EQ(decode(bytes).state, State::malformed) << bytes;
    EXPECT_EQ(decode(bytes, 1).state, State::malformed) << bytes;
  }
  EXPECT_EQ(decode(std::string_view("5;\0", 3)).state, State::malformed);
  EXPECT_EQ(decode("\xEF\xBC\x95\r\n").state, State::malformed);
}

TEST(Chunked, EveryByteButAHexDigitIsRefusedAsASize) {
  for (int c = 0; c < 256; ++c) {
    const std::string byte(1, static_cast<char>(c));
    EXPECT_EQ(decode(byte).state, std::isxdigit(c) ? State::more : State::malformed) << c;
    EXPECT_EQ(decode("1" + byte).state, std::isxdigit(c) || c == ';' || c == '\r' ? State::more : State::malformed)
        << c;
  }
}

TEST(Chunked, ASizeOf64BitsIsAnnouncedBeforeItsBytesCome) {
  ChunkedDecoder decoder;
  EXPECT_EQ(decoder.announced(), 0u);
  ASSERT_EQ(feed(decoder, "FFFFFFFFFFFFFFFF\r\n").state, State::more);
  EXPECT_EQ(decoder.announced(), 0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(feed(decoder, "abc").data, "abc");
  EXPECT_EQ(decoder.announced(), 0xFFFFFFFFFFFFFFFCu);
}

TEST(Chunked, AnExtensionMayHave256BytesAndNoMoreInEachChunk) {
  const std::string longest(256, 'x');
  EXPECT_EQ(decode("1;" + longest + "\r\na\r\n1;" + longest + "\r\nb\r\n0;" + longest + "\r\n\r\n").data, "ab");
  EXPECT_EQ(decode("1;" + longest + "x").state, State::malformed);
  EXPECT_EQ(decode("1;" + longest + "x", 1).state, State::malformed);
  EXPECT_EQ(decode("1\r\na\r\n0;" + longest + "x").state, State::malformed);
  EXPECT_EQ(decode("1;" + std::string(900'000, 'x'), 1000).state, State::malformed);
  EXPECT_EQ(decode("1;\t\xC3\xA9\"\r\na").data, "a");
}

TEST(Chunked, ManyTinyChunksAreData) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += "1\r\nx\r\n";
  const Outcome outcome = decode(bytes + "0\r\n\r\n", 777);
  EXPECT_EQ(outcome.state, State::done);
  EXPECT_EQ(outcome.data, std::string(100'000, 'x'));
}

}  // namespace
}  // namespace restante::http
