// LineSplitter: splits input into lines, in bounded memory. A line that is too long is discarded up to its end and
// reported; an empty line is ignored. Pure; one thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace restante::mcp {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // `line` is called with each complete line without its end (\n or \r\n); `too_long` once for each discarded line.
  void add(std::string_view bytes, const std::function<void(std::string_view)>& line,
           const std::function<void()>& too_long);

 private:
  std::size_t longest_;
  std::string rest_;
  bool skipping_ = false;
};

}  // namespace restante::mcp
