// DownloadQueue: the threads that fetch, verify, store and acknowledge announced files, several at once. A failure is
// reported to the server; a file is tried again after a pause as long as that makes sense. Every result goes into the
// ledger; then `done` is called on the download thread. Threads live from start() to stop(). Thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/backoff.h"
#include "agent/file_downloader.h"
#include "agent/ledger.h"
#include "base/mutex.h"

namespace restante::agent {

struct DownloadOptions {
  std::size_t at_once = 4;
  // Pauses after a network failure, and after a local one (a full disk takes longer to repair).
  std::chrono::milliseconds pause_first{500};
  std::chrono::milliseconds pause_most{10'000};
  std::chrono::milliseconds trouble_first{2'000};
  std::chrono::milliseconds trouble_most{300'000};
  int wrong_attempts = 3;  // how often the content may be wrong before the file is refused for good
};

class DownloadQueue {
 public:
  using PrintLine = std::function<void(std::string_view)>;
  using Connect = std::function<std::unique_ptr<ApiClient>()>;
  // The state of a file has changed: it has landed, or it has not and the reason is in the ledger.
  using Done = std::function<void(FileId)>;

  // `connect` creates the client of one download thread; it is called on that thread.
  DownloadQueue(DownloadOptions options, Ledger& ledger, LandingFolder landing, Connect connect, Done done,
                PrintLine print_line);
  ~DownloadQueue();

  void start(std::uint64_t largest_file);
  // Ends running downloads and waits for the threads.
  void stop();

  // Starts as soon as a thread is free. A file that is already queued or running is not added again.
  void enqueue(FileId id);
  // Tries all files in a pause now: the network is back.
  void retry_now();

 private:
  using Moment = std::chrono::steady_clock::time_point;
  struct DownloadJob {
    Moment due;
    bool running = false;
    int wrong = 0;
    Backoff network, trouble;
  };

  void work();
  // The pause before the next attempt; no value: nothing more to do for this file.
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

  Mutex mutex_;  // the poll adds jobs, the download threads take them
  ConditionVariable changed_;
  std::map<std::string, DownloadJob> jobs_ RESTANTE_GUARDED_BY(mutex_);  // by file id
  std::set<ApiClient*> clients_ RESTANTE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
  bool stopping_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante::agent
