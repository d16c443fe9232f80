// LineSplitter: splits input into lines, in bounded memory. A line that is too long is discarded up to its end and then
// reported, with the ids of its requests; an empty line is ignored. Pure; one thread.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/id_finder.h"

namespace restante::mcp {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // `line` is called with each complete line without its end (\n or \r\n); `too_long` once for each discarded line.
  void add(std::string_view bytes, const std::function<void(std::string_view)>& line,
           const std::function<void(const std::vector<Json>& ids)>& too_long);

 private:
  std::size_t longest_;
  std::string rest_;
  std::optional<IdFinder> discarded_;  // what is found in the line that is being discarded
};

}  // namespace restante::mcp
