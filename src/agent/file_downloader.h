// Courier: brings one announced file from the platform to the disk: finds it there already, or fetches it, resumed by
// Range after a cut, verifies and lands it. Blocking; belongs to one thread. It changes nothing but the record it is
// given.
#pragma once
#include <string>

#include "agent/api_client.h"
#include "agent/landing_folder.h"
#include "agent/state.h"

namespace restante::agent {

class FileDownloader {
 public:
  enum class DownloadResult {
    landed,
    gone,     // the server has it no more
    later,    // the network's trouble; it may pass
    trouble,  // this side's trouble, such as a full disk; it may pass, and the sender should hear of it
    wrong,    // the bytes are not what was announced, or more than allowed; asking again will hardly help
  };

  // `largest` is how big a file may be announced; 0: any size.
  FileDownloader(ApiClient& api, LandingFolder landing, std::uint64_t largest = 0)
      : api_(api), landing_(std::move(landing)), largest_(largest) {}

  // Sets where, path, trouble and reason of the record.
  DownloadResult download(FileRecord& record);

 private:
  enum class Fetched { whole, again, gone, later, trouble, wrong };
  Fetched fetch(const AnnouncedFile& announced, Partial& partial, std::string& why);
  DownloadResult attempt(FileRecord& record, std::string& why);

  ApiClient& api_;
  LandingFolder landing_;
  std::uint64_t largest_;
};

}  // namespace restante::agent
