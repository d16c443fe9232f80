#include "desk/elsewhere.h"

#include <algorithm>

#include "desk/tokens.h"

namespace restante::desk {
namespace {

// Whoever watches reads the rows themselves; beyond so many at once it is enough to know that there are.
constexpr std::int64_t kMostRows = 100;

}  // namespace

Elsewhere::Elsewhere(Announcements& announcements, News& news, Bell& bell, Log& log)
    : announcements_(announcements), news_(news), bell_(bell), log_(log) {
  announcements_.listen(this);
}

Elsewhere::~Elsewhere() { announcements_.listen(nullptr); }

void Elsewhere::appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) {
  if (!news_.is_watched()) return news_.changed(workspace);
  for (std::int64_t seq = std::max(first, last - kMostRows + 1); seq <= last; ++seq) {
    news_.appended(workspace, {ActivityId(), seq, false});
  }
}

void Elsewhere::revoked(TokenId token) { bell_.ring(topic_of(token)); }

void Elsewhere::lost() {
  log_.warn("announcements_lost");
  bell_.release();
}

void Elsewhere::healed() {
  log_.info("announcements_healed");
  news_.missed();
}

}  // namespace restante::desk
