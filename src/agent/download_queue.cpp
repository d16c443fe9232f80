#include "agent/download_queue.h"

#include <algorithm>

namespace restante::agent {
namespace {

using std::chrono::steady_clock;

// True when it makes no sense to repeat the report to the server.
bool is_final(const client::Outcome<void>& report) { return report.has_value() || !may_yet_succeed(report.error()); }

}  // namespace

DownloadQueue::DownloadQueue(DownloadOptions options, Ledger& ledger, LandingFolder landing, Connect connect, Done done,
                             PrintLine print_line)
    : options_(options),
      ledger_(ledger),
      landing_(std::move(landing)),
      connect_(std::move(connect)),
      done_(std::move(done)),
      print_line_(std::move(print_line)) {}

DownloadQueue::~DownloadQueue() { stop(); }

void DownloadQueue::start(std::uint64_t largest_file) {
  largest_ = largest_file;
  for (std::size_t i = 0; i < options_.at_once; ++i) threads_.emplace_back([this] { work(); });
}

void DownloadQueue::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (auto* api : clients_) api->cancel();
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void DownloadQueue::enqueue(FileId id) {
  {
    const MutexLock lock(mutex_);
    jobs_.try_emplace(id.text(),
                      DownloadJob{steady_clock::now(), false, 0, Backoff(options_.pause_first, options_.pause_most),
                                  Backoff(options_.trouble_first, options_.trouble_most)});
  }
  changed_.notify_one();
}

void DownloadQueue::retry_now() {
  {
    const MutexLock lock(mutex_);
    for (auto& [id, job] : jobs_) job.due = std::min(job.due, steady_clock::now());
  }
  changed_.notify_all();
}

void DownloadQueue::work() {
  const auto api = connect_();
  MutexLock lock(mutex_);
  clients_.insert(api.get());
  while (!stopping_) {
    const auto next = std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.running, a.second.due) < std::pair(b.second.running, b.second.due);
    });
    if (next == jobs_.end() || next->second.running) {
      changed_.wait(lock);
      continue;
    }
    if (next->second.due > steady_clock::now()) {
      changed_.wait_until(lock, next->second.due);
      continue;
    }
    auto job = next->second;
    next->second.running = true;
    const auto id = FileId::parse(next->first).value();
    lock.unlock();
    const auto pause = attempt(*api, id, job);
    lock.lock();
    if (pause) {
      job.due = steady_clock::now() + *pause;
      jobs_.find(id.text())->second = job;
    } else {
      jobs_.erase(id.text());
    }
    const bool ending = stopping_;
    lock.unlock();
    if (!ending) done_(id);
    lock.lock();
  }
  clients_.erase(api.get());
}

std::optional<std::chrono::milliseconds> DownloadQueue::attempt(ApiClient& api, FileId id, DownloadJob& job) {
  auto file = ledger_.file(id);
  if (!file) return {};
  bool finished = true;
  if (file->where == FileRecord::Where::waiting) finished = download(api, *file, job.wrong);
  if (file->where == FileRecord::Where::refused && !file->reported)
    finished = file->reported = is_final(api.fail(id, file->reason));
  if (file->where == FileRecord::Where::landed && !file->acked) finished = acknowledge(api, *file);
  ledger_.file_updated(*file);
  if (finished) return {};
  return file->trouble == "failed" ? job.trouble.next() : job.network.next();
}

// False: try again.
bool DownloadQueue::download(ApiClient& api, FileRecord& file, int& wrong) {
  switch (FileDownloader(api, landing_, largest_).download(file)) {
    case FileDownloader::DownloadResult::landed:
      ledger_.file_updated(file);  // before the ack, after which the server may delete its copy
      return true;
    case FileDownloader::DownloadResult::gone:
      return true;
    case FileDownloader::DownloadResult::later:
      return false;
    case FileDownloader::DownloadResult::trouble:
      report(api, file);
      return false;
    case FileDownloader::DownloadResult::wrong:
      report(api, file);
      if (++wrong < options_.wrong_attempts && (largest_ == 0 || file.announced.size <= largest_)) return false;
      file.where = FileRecord::Where::refused;
      return true;
  }
  return true;
}

bool DownloadQueue::acknowledge(ApiClient& api, FileRecord& file) {
  const auto acked = api.ack(file.announced.id);
  // 404: acked before and swept, or expired meanwhile; the file has landed either way.
  file.acked = acked.has_value() || acked.error().is_status(404);
  return file.acked;
}

void DownloadQueue::report(ApiClient& api, FileRecord& file) {
  if (file.reported) return;
  print_line_("the file " + file.announced.name + " cannot be taken: " + file.reason);
  file.reported = is_final(api.fail(file.announced.id, file.reason));
}

}  // namespace restante::agent
