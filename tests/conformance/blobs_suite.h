// What Blobs promises, for every place. A place joins by instantiating BlobsTest with a kind that makes it; a behaviour
// that is not in this suite is not promised. What only one place can do is tested beside it.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>

#include "store/blobs.h"

namespace restante::testing {

// A place for blobs that is empty at first and kept until this is destroyed. open() returns Blobs on it; it may be
// called often, but only one may be open at a time.
class BlobsPlace {
 public:
  virtual ~BlobsPlace() = default;
  virtual std::unique_ptr<Blobs> open() = 0;
};

struct BlobsKind {
  std::string name;
  std::function<std::unique_ptr<BlobsPlace>()> make;
};

inline void PrintTo(const BlobsKind& kind, std::ostream* out) { *out << kind.name; }

// So many bytes, different for every seed, without a period in which an error of a chunk or a part could hide.
std::string some_bytes(std::size_t size, std::uint32_t seed = 1);
std::string put(Blobs& blobs, std::string_view bytes);
// The whole content, in reads of at most so many bytes.
std::string content(OpenBlob& blob, std::size_t step = 64 << 10);
// All keys that list() returns, in as many steps as needed; none twice.
std::set<std::string> keys_of(Blobs& blobs, Time before = Time::max());

class BlobsTest : public ::testing::TestWithParam<BlobsKind> {
 protected:
  BlobsTest() : place(GetParam().make()), blobs(place->open()) {}

  void reopen();

  std::unique_ptr<BlobsPlace> place;
  std::unique_ptr<Blobs> blobs;
};

#define RESTANTE_PLACES(prefix, ...)                                            \
  INSTANTIATE_TEST_SUITE_P(prefix, BlobsTest, ::testing::ValuesIn(__VA_ARGS__), \
                           [](const auto& test) { return test.param.name; })

}  // namespace restante::testing
