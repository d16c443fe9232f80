#include "store/announcements.h"

namespace restante {

void Announcements::listen(Listener* listener) {
  const std::lock_guard lock(mutex_);
  listener_ = listener;
}

void Announcements::send_by(std::function<void(const Happening&)> sender) {
  const std::lock_guard lock(sender_mutex_);
  sender_ = std::move(sender);
}

void Announcements::tell(const Happening& happening) {
  const std::lock_guard lock(sender_mutex_);
  if (sender_) sender_(happening);
}

}  // namespace restante
