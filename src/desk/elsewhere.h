// Elsewhere: what other servers on the same data announce becomes news here: held polls and streams wake, and what a
// revoked token holds open ends. While nothing can be heard, held polls are answered empty rather than kept waiting for
// news that would not come; when it can be again, everybody looks. Called on the store's thread.
#pragma once
#include "base/bell.h"
#include "base/log.h"
#include "desk/news.h"
#include "store/announcements.h"

namespace restante::desk {

class Elsewhere final : public Announcements::Listener {
 public:
  // Listens until it is destroyed.
  Elsewhere(Announcements& announcements, News& news, Bell& bell, Log& log);
  ~Elsewhere() override;
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

  void appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) override;
  void changed(WorkspaceId workspace) override { news_.changed(workspace); }
  void revoked(TokenId token) override;
  void happened(Happening happening) override { news_.heard(std::move(happening)); }
  bool looks_on() override { return news_.is_watched(); }
  void lost() override;
  void healed() override;

 private:
  Announcements& announcements_;
  News& news_;
  Bell& bell_;
  Log& log_;
};

}  // namespace restante::desk
