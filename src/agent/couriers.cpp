#include "agent/couriers.h"

#include <algorithm>

namespace restante::agent {
namespace {

using client::Failure;
using std::chrono::steady_clock;

// Whether telling the server again could help.
bool is_final(const client::Outcome<void>& told) { return told.has_value() || !is_open(told.error()); }

}  // namespace

Couriers::Couriers(CourierOptions options, Ledger& ledger, Landing landing, Connect connect, Done done, Say say)
    : options_(options),
      ledger_(ledger),
      landing_(std::move(landing)),
      connect_(std::move(connect)),
      done_(std::move(done)),
      say_(std::move(say)) {}

Couriers::~Couriers() { stop(); }

void Couriers::start(std::uint64_t largest_file) {
  largest_ = largest_file;
  for (std::size_t i = 0; i < options_.at_once; ++i) threads_.emplace_back([this] { work(); });
}

void Couriers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto* platform : platforms_) platform->cancel();
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void Couriers::send_for(FileId id) {
  {
    const std::lock_guard lock(mutex_);
    errands_.try_emplace(id.text(),
                         Errand{steady_clock::now(), false, 0, Backoff(options_.pause_first, options_.pause_most),
                                Backoff(options_.trouble_first, options_.trouble_most)});
  }
  changed_.notify_one();
}

void Couriers::hurry() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, errand] : errands_) errand.due = std::min(errand.due, steady_clock::now());
  }
  changed_.notify_all();
}

void Couriers::work() {
  const auto platform = connect_();
  std::unique_lock lock(mutex_);
  platforms_.insert(platform.get());
  while (!stopping_) {
    const auto next = std::min_element(errands_.begin(), errands_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.under_way, a.second.due) < std::pair(b.second.under_way, b.second.due);
    });
    if (next == errands_.end() || next->second.under_way) {
      changed_.wait(lock);
      continue;
    }
    if (next->second.due > steady_clock::now()) {
      changed_.wait_until(lock, next->second.due);
      continue;
    }
    auto errand = next->second;
    next->second.under_way = true;
    const auto id = FileId::parse(next->first).value();
    lock.unlock();
    const auto pause = attempt(*platform, id, errand);
    lock.lock();
    if (pause) {
      errand.due = steady_clock::now() + *pause;
      errands_.find(id.text())->second = errand;
    } else {
      errands_.erase(id.text());
    }
    const bool ending = stopping_;
    lock.unlock();
    if (!ending) done_(id);
    lock.lock();
  }
  platforms_.erase(platform.get());
}

std::optional<std::chrono::milliseconds> Couriers::attempt(Platform& platform, FileId id, Errand& errand) {
  auto file = ledger_.file(id);
  if (!file) return {};
  bool finished = true;
  if (file->where == FileRecord::Where::waiting) finished = bring(platform, *file, errand.wrong);
  if (file->where == FileRecord::Where::refused && !file->reported)
    finished = file->reported = is_final(platform.fail(id, file->reason));
  if (file->where == FileRecord::Where::landed && !file->acked) finished = acknowledge(platform, *file);
  ledger_.came(*file);
  if (finished) return {};
  return file->trouble == "failed" ? errand.trouble.next() : errand.network.next();
}

// False: worth another attempt.
bool Couriers::bring(Platform& platform, FileRecord& file, int& wrong) {
  switch (Courier(platform, landing_, largest_).bring(file)) {
    case Courier::Brought::landed:
      ledger_.came(file);  // before the ack, after which nobody else has the bytes
      return true;
    case Courier::Brought::gone:
      return true;
    case Courier::Brought::later:
      return false;
    case Courier::Brought::trouble:
      report(platform, file);
      return false;
    case Courier::Brought::wrong:
      report(platform, file);
      if (++wrong < options_.wrong_attempts && (largest_ == 0 || file.parcel.size <= largest_)) return false;
      file.where = FileRecord::Where::refused;
      return true;
  }
  return true;
}

bool Couriers::acknowledge(Platform& platform, FileRecord& file) {
  const auto acked = platform.ack(file.parcel.id);
  // 404: acked before and swept, or expired meanwhile; the bytes are here either way.
  file.acked = acked.has_value() || (acked.error().kind == Failure::Kind::status && acked.error().status == 404);
  return file.acked;
}

void Couriers::report(Platform& platform, FileRecord& file) {
  if (file.reported) return;
  say_("the file " + file.parcel.name + " cannot be taken: " + file.reason);
  file.reported = is_final(platform.fail(file.parcel.id, file.reason));
}

}  // namespace restante::agent
