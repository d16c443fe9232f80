#include "base/crypto.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace restante {
namespace {

std::string hash(std::string_view text) { return to_hex(sha256(text)); }

TEST(Crypto, Sha256GivesTheVectorsOfFips180) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Crypto, Sha256OfPiecesIsThatOfTheWholeWhereverItIsCut) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 7);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 pieces;
    pieces.update(std::string_view(text).substr(0, cut));
    pieces.update({});
    pieces.update(std::string_view(text).substr(cut));
    ASSERT_EQ(pieces.finish(), sha256(text)) << cut;
  }
}

TEST(Crypto, AnUnfinishedSha256CanBeMoved) {
  Sha256 first;
  first.update("a");
  Sha256 second = std::move(first);
  second.update("b");
  first = std::move(second);
  first.update("c");
  EXPECT_EQ(first.finish(), sha256("abc"));
  first = Sha256();
  EXPECT_EQ(first.finish(), sha256(""));
}

std::string mac(std::string_view key, std::string_view text) {
  return to_hex(hmac_sha256({reinterpret_cast<const std::uint8_t*>(key.data()), key.size()}, text));
}

// RFC 4231.
TEST(Hmac, GivesThePublishedValues) {
  EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, AnEmptyKeyIsAKeyAndNotTheOneBefore) {
  mac("something else", "text");
  EXPECT_EQ(mac("", ""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

// RFC 1321.
TEST(Md5, GivesThePublishedValues) {
  EXPECT_EQ(to_hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(to_hex(md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(Crypto, RandomBytesFillTheWholeSpanAndDiffer) {
  std::array<std::uint8_t, 33> ever{};
  std::set<std::array<std::uint8_t, 33>> seen;
  for (int i = 0; i < 1000; ++i) {
    std::array<std::uint8_t, 33> bytes{};
    random_bytes(bytes);
    seen.insert(bytes);
    for (std::size_t at = 0; at < bytes.size(); ++at) ever[at] |= bytes[at];
  }
  EXPECT_EQ(seen.size(), 1000u);
  for (const std::uint8_t byte : ever) EXPECT_EQ(byte, 0xff);
  random_bytes({});
}

TEST(Crypto, RandomBytesOfSeveralThreadsDiffer) {
  std::vector<std::array<std::uint8_t, 16>> made(4 * 500);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&made, t] {
        for (std::size_t i = 0; i < 500; ++i) random_bytes(made[t * 500 + i]);
      });
    }
  }
  EXPECT_EQ(std::set(made.begin(), made.end()).size(), made.size());
}

TEST(Crypto, ConstantTimeComparisonComparesEverything) {
  const Digest digest = sha256("token");
  EXPECT_TRUE(equal_constant_time(digest, digest));
  EXPECT_TRUE(equal_constant_time({}, {}));
  EXPECT_FALSE(equal_constant_time(digest, {}));
  EXPECT_FALSE(equal_constant_time(digest, std::span(digest).first(31)));
  for (std::size_t at = 0; at < digest.size(); ++at) {
    Digest other = digest;
    other[at] ^= 0x80;
    EXPECT_FALSE(equal_constant_time(digest, other)) << at;
  }
}

}  // namespace
}  // namespace restante
