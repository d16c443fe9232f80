// Promises: an accepted mark reads back the same when it is written again.
#include <cstddef>
#include <cstdint>

#include "fuzz/oracle.h"
#include "model/owner.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace restante;
  const auto mark = parse_owner_mark({reinterpret_cast<const char*>(data), size});
  if (mark) ORACLE(parse_owner_mark(text_of(*mark)) == mark);
  return 0;
}
