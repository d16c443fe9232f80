#include "mcp/line_splitter.h"

namespace restante::mcp {

void LineSplitter::add(std::string_view bytes, const std::function<void(std::string_view)>& line,
                       const std::function<void(const std::vector<Json>& ids)>& too_long) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    if (!discarded_ && rest_.size() + piece.size() > longest_) {
      discarded_.emplace().add(rest_);
      rest_ = {};
    }
    discarded_ ? discarded_->add(piece) : void(rest_ += piece);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (discarded_) {
      const auto ids = discarded_->ids();
      discarded_.reset();
      too_long(ids);
      continue;
    }
    std::string whole;
    whole.swap(rest_);
    if (whole.ends_with('\r')) whole.pop_back();
    if (whole.find_first_not_of(" \t") != std::string::npos) line(whole);
  }
}

}  // namespace restante::mcp
