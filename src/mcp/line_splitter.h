// Lines: cuts what comes from stdin into lines, in bounded memory. A line that is too long is thrown away up to its end
// and told as such; an empty one is nothing. Pure; belongs to one thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace restante::mcp {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // `line` gets each whole line without its end (\n or \r\n); `too_long` is called once for each that was thrown away.
  void add(std::string_view bytes, const std::function<void(std::string_view)>& line,
           const std::function<void()>& too_long);

 private:
  std::size_t longest_;
  std::string rest_;
  bool skipping_ = false;
};

}  // namespace restante::mcp
