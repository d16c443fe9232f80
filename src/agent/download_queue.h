// Couriers: several files on their way at once, each brought by one of a few threads: fetched, landed, acknowledged, or
// its failure reported; again after a pause as long as that makes sense. What comes of it goes into the ledger; `done`
// is called, on a courier's thread, after every attempt. Threads live from start() to stop().
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/backoff.h"
#include "agent/file_downloader.h"
#include "agent/ledger.h"

namespace restante::agent {

struct DownloadOptions {
  std::size_t at_once = 4;
  // After the network's trouble, and after this side's (a full disk takes longer to mend).
  std::chrono::milliseconds pause_first{500};
  std::chrono::milliseconds pause_most{15'000};
  std::chrono::milliseconds trouble_first{2'000};
  std::chrono::milliseconds trouble_most{300'000};
  int wrong_attempts = 3;  // how often bytes may come wrong before the file is refused for good
};

class DownloadQueue {
 public:
  using PrintLine = std::function<void(std::string_view)>;
  using Connect = std::function<std::unique_ptr<ApiClient>()>;
  // Something was learnt about a file: it is here, or it is not and why.
  using Done = std::function<void(FileId)>;

  // `connect` makes the connection of one courier, on its thread.
  DownloadQueue(DownloadOptions options, Ledger& ledger, LandingFolder landing, Connect connect, Done done,
                PrintLine print_line);
  ~DownloadQueue();
  DownloadQueue(const DownloadQueue&) = delete;
  DownloadQueue& operator=(const DownloadQueue&) = delete;

  void start(std::uint64_t largest_file);
  // Ends what is under way and waits for the threads.
  void stop();

  // As soon as a courier is free. A file that is on its way already stays so.
  void enqueue(FileId id);
  // What waits for a better moment is tried now: the network is back.
  void retry_now();

 private:
  using Moment = std::chrono::steady_clock::time_point;
  struct DownloadJob {
    Moment due;
    bool under_way = false;
    int wrong = 0;
    Backoff network, trouble;
  };

  void work();
  // No value: nothing more to do for this file.
  std::optional<std::chrono::milliseconds> attempt(ApiClient& api, FileId id, DownloadJob& job);
  bool download(ApiClient& api, FileRecord& file, int& wrong);
  bool acknowledge(ApiClient& api, FileRecord& file);
  void report(ApiClient& api, FileRecord& file);

  DownloadOptions options_;
  Ledger& ledger_;
  LandingFolder landing_;
  Connect connect_;
  Done done_;
  PrintLine print_line_;
  std::uint64_t largest_ = 0;

  std::mutex mutex_;  // the errands: the poll adds, the couriers take
  std::condition_variable changed_;
  std::map<std::string, DownloadJob> jobs_;  // by file id
  std::set<ApiClient*> clients_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace restante::agent
