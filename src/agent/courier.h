// Courier: brings one announced file from the platform to the disk: finds it there already, or fetches it, resumed by
// Range after a cut, verifies and lands it. Blocking; belongs to one thread. It changes nothing but the record it is
// given.
#pragma once
#include <string>

#include "agent/landing.h"
#include "agent/platform.h"
#include "agent/state.h"

namespace restante::agent {

class Courier {
 public:
  enum class Brought {
    landed,
    gone,     // the server has it no more
    later,    // the network's trouble; it may pass
    trouble,  // this side's trouble, or bytes that are not what was announced; `why` is for the sender too
  };

  Courier(Platform& platform, Landing landing) : platform_(platform), landing_(std::move(landing)) {}

  // Sets where, path and trouble of the record.
  Brought bring(FileRecord& record, std::string& why);

 private:
  enum class Fetched { whole, again, gone, later, trouble };
  Fetched fetch(const Parcel& parcel, Partial& partial, std::string& why);
  Brought attempt(FileRecord& record, std::string& why);

  Platform& platform_;
  Landing landing_;
};

}  // namespace restante::agent
