// FileDownloader: downloads one announced file to the disk. It finds the file there already, or fetches it, resumes by
// Range after a broken connection, verifies it and gives it its final name. Blocking; one thread. Changes only the
// given record.
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
    gone,     // the server no longer has the file
    later,    // network failure; try again
    trouble,  // local failure, such as a full disk; try again, and report it to the sender
    wrong,    // the content is not what was announced, or too large; another attempt will hardly help
  };

  // `largest` is the largest size that may be announced; 0: any size.
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
