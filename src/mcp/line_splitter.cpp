#include "mcp/line_splitter.h"

#include <utility>

namespace restante::mcp {

void LineSplitter::add(std::string_view bytes, const std::function<void(std::string_view)>& line,
                       const std::function<void()>& too_long) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    if (!skipping_ && rest_.size() + piece.size() > longest_) {
      skipping_ = true;
      rest_ = {};
      too_long();
    }
    if (!skipping_) rest_ += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!std::exchange(skipping_, false)) {
      std::string whole;
      whole.swap(rest_);
      if (whole.ends_with('\r')) whole.pop_back();
      if (whole.find_first_not_of(" \t") != std::string::npos) line(whole);
    }
  }
}

}  // namespace restante::mcp
