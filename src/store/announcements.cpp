#include "store/announcements.h"

namespace restante {

void Announcements::subscribe(Subscriber* subscriber) {
  const MutexLock lock(mutex_);
  subscriber_ = subscriber;
}

void Announcements::set_sender(std::function<void(const TransientEvent&)> sender) {
  const MutexLock lock(sender_mutex_);
  sender_ = std::move(sender);
}

void Announcements::send(const TransientEvent& event) {
  const MutexLock lock(sender_mutex_);
  if (sender_) sender_(event);
}

}  // namespace restante
