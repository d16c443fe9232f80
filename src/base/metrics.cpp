#include "base/metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include <prometheus/text_serializer.h>

namespace restante {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Registry;

// From the fastest in-memory answer to the longest held poll.
const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};

// From an agent that answers at once to one whose laptop was closed for days.
const prometheus::Histogram::BucketBoundaries kTaskSeconds = {0.1,  1,     5,     15,    60,     300,   900,
                                                              3600, 21600, 43200, 86400, 259200, 604800};

// From an agent that is polling to one that comes back just before its files expire; fine enough for percentiles.
const prometheus::Histogram::BucketBoundaries kDeliverySeconds = {
    0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25,  0.35,  0.5,   0.75,   1,      1.5,    2.5,
    5,     10,   20,   30,    60,   120,   300, 600,  1'800, 3'600, 7'200, 21'600, 43'200, 86'400, 604'800};

prometheus::Counter& counter(Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& gauge(Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

double count_open_files() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return 0;
  double count = -3;  // ".", ".." and the folder itself
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

double count_threads() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double value = 0;
    if (word == "Threads:" && status >> value) return value;
  }
  return 0;
}

}  // namespace

Metrics::Metrics(const BuildInfo& build)
    : held_polls(
          gauge(registry_, "restante_held_polls", "Requests parked until something happens or their time is up.")),
      wake_latency(BuildHistogram()
                       .Name("restante_wake_latency_seconds")
                       .Help("From the bell that wakes a held poll to its answer being handed to the socket.")
                       .Register(registry_)
                       .Add({}, kSeconds)),
      uploads_staged(counter(registry_, "restante_uploads_staged_total", "Files staged for an agent.")),
      uploads_staged_bytes(counter(registry_, "restante_uploads_staged_bytes_total", "Bytes staged for an agent.")),
      uploads_fetched(counter(registry_, "restante_uploads_fetched_total", "Fetches of staged files by their agent.")),
      uploads_fetched_bytes(
          counter(registry_, "restante_uploads_fetched_bytes_total", "Size of the files fetched by their agent.")),
      uploads_acked(counter(registry_, "restante_uploads_acked_total", "Files acknowledged by their agent.")),
      uploads_acked_bytes(
          counter(registry_, "restante_uploads_acked_bytes_total", "Bytes of files acknowledged by their agent.")),
      uploads_failed(counter(registry_, "restante_uploads_failed_total",
                             "Times an agent reported that it could not take a file.")),
      upload_push_bytes(
          counter(registry_, "restante_upload_push_bytes_total", "Bytes of uploads passed on to callbacks.")),
      uploads_recalled(counter(registry_, "restante_uploads_recalled_total", "Files recalled by their sender.")),
      pending_uploads(gauge(registry_, "restante_pending_uploads", "Files that wait for their agent.")),
      pending_uploads_bytes(gauge(registry_, "restante_pending_uploads_bytes", "Bytes that wait for their agent.")),
      pending_uploads_oldest_age(gauge(registry_, "restante_pending_uploads_oldest_age_seconds",
                                       "Age of the file that has waited longest; 0 when none waits.")),
      damaged_uploads(gauge(registry_, "restante_damaged_uploads",
                            "Files that are still listed and whose content is known to be damaged or missing.")),
      uploads_checked_bytes(counter(registry_, "restante_uploads_checked_bytes_total",
                                    "Bytes read to compare files with what was staged.")),
      orphans_collected(counter(registry_, "restante_orphan_blobs_collected_total",
                                "Blobs without a row that were found and deleted.")),
      upload_delivery(BuildHistogram()
                          .Name("restante_upload_delivery_seconds")
                          .Help("From a file being staged to its agent's ack.")
                          .Register(registry_)
                          .Add({}, kDeliverySeconds)),
      sweep_duration(BuildHistogram()
                         .Name("restante_sweep_duration_seconds")
                         .Help("How long one sweep of the staged files took.")
                         .Register(registry_)
                         .Add({}, kSeconds)),
      delegation_age(BuildHistogram()
                         .Name("restante_delegation_age_seconds")
                         .Help("How old tasks were when they ended.")
                         .Register(registry_)
                         .Add({}, kTaskSeconds)),
      late_answers(counter(registry_, "restante_delegation_late_answers_total",
                           "Answers that came after their task had ended.")),
      delegation_sweep_errors(
          counter(registry_, "restante_delegation_sweep_errors_total", "Sweeps of tasks that could not be finished.")),
      log_lines_lost(counter(registry_, "restante_log_lines_lost_total", "Log lines that could not be written.")),
      store_reads(counter(registry_, "restante_store_reads_total", "Queries to the database.")),
      store_commits(counter(registry_, "restante_store_commits_total", "Groups of writes committed to the database.")),
      activity_pruned(counter(registry_, "restante_activity_pruned_total", "Inbox rows deleted by retention.")),
      invalid_tokens(counter(registry_, "restante_invalid_tokens_total", "Invalid tokens in requests.")),
      silent_workspaces(
          gauge(registry_, "restante_silent_workspaces", "Agents that used to poll and have stopped doing so.")),
      s3_retries(counter(registry_, "restante_s3_retries_total", "Requests to S3 that were sent again.")),
      blob_fallbacks(counter(registry_, "restante_blob_fallbacks_total",
                             "Reads that the second place of a file had to serve, because the first could not.")),
      blob_move_files(counter(registry_, "restante_blob_move_files_total",
                              "Files that were copied to another place and verified, and are read from there.")),
      blob_move_bytes(
          counter(registry_, "restante_blob_move_bytes_total", "Bytes of files that were copied to another place.")),
      blob_move_failures(counter(registry_, "restante_blob_move_failures_total",
                                 "Times a file could not be copied to another place.")),
      blob_move_left(gauge(registry_, "restante_blob_move_left_files", "Files that the blob move has not copied yet.")),
      blob_move_left_bytes(
          gauge(registry_, "restante_blob_move_left_bytes", "Bytes that the blob move has not copied yet.")),
      http_duration_(
          BuildHistogram()
              .Name("restante_http_request_duration_seconds")
              .Help("From the request's head to the end of its answer, by route template; held time included.")
              .Register(registry_)),
      http_responses_(
          BuildCounter().Name("restante_http_responses_total").Help("Answers by status class.").Register(registry_)),
      connections_(BuildGauge()
                       .Name("restante_connections")
                       .Help("Open client connections by the I/O thread that owns them.")
                       .Register(registry_)),
      requests_(BuildCounter()
                    .Name("restante_io_thread_requests_total")
                    .Help("Requests taken by each I/O thread.")
                    .Register(registry_)),
      refused_(BuildCounter()
                   .Name("restante_requests_refused_total")
                   .Help("Requests refused before they reached a route, by reason.")
                   .Register(registry_)),
      swept_(BuildCounter()
                 .Name("restante_pending_uploads_swept_total")
                 .Help("Staged files removed by the sweep, by outcome.")
                 .Register(registry_)),
      uploads_damaged_(BuildCounter()
                           .Name("restante_uploads_damaged_total")
                           .Help("Files found not to be what was staged: their content has changed, or is missing.")
                           .Register(registry_)),
      uploads_checked_(BuildCounter()
                           .Name("restante_uploads_checked_total")
                           .Help("Files whose content was compared with what was staged, by result.")
                           .Register(registry_)),
      pushes_(BuildCounter()
                  .Name("restante_pushes_total")
                  .Help("Messages to push workspaces: delivered to the callback, or why they went to the inbox.")
                  .Register(registry_)),
      upload_pushes_(BuildCounter()
                         .Name("restante_upload_pushes_total")
                         .Help("Uploads to push workspaces: delivered to the callback, staged instead, or why not.")
                         .Register(registry_)),
      delegation_steps_(BuildCounter()
                            .Name("restante_delegations_total")
                            .Help("Steps of tasks, by the status they led to.")
                            .Register(registry_)),
      delegations_in_flight_(BuildGauge()
                                 .Name("restante_delegations_in_flight")
                                 .Help("Tasks that have not ended, by status.")
                                 .Register(registry_)),
      s3_requests_(BuildCounter()
                       .Name("restante_s3_requests_total")
                       .Help("Requests to S3, every attempt, by operation and outcome.")
                       .Register(registry_)),
      s3_bytes_(
          BuildCounter().Name("restante_s3_bytes_total").Help("Bytes of files to and from S3.").Register(registry_)),
      place_not_ours_(BuildGauge()
                          .Name("restante_place_not_ours")
                          .Help("1 while a place is not known to belong to this installation.")
                          .Register(registry_)),
      resident_(gauge(registry_, "process_resident_memory_bytes", "Resident memory.")),
      virtual_(gauge(registry_, "process_virtual_memory_bytes", "Virtual memory.")),
      open_files_(gauge(registry_, "process_open_fds", "Open file descriptors.")),
      max_files_(gauge(registry_, "process_max_fds", "How many file descriptors may be open.")),
      threads_(gauge(registry_, "process_threads", "Threads of the process.")),
      start_time_(gauge(registry_, "process_start_time_seconds", "When the process started, in seconds since 1970.")),
      cpu_seconds_(counter(registry_, "process_cpu_seconds_total", "User and system time.")) {
  BuildGauge()
      .Name("restante_build_info")
      .Help("Always 1; the labels name the running build.")
      .Register(registry_)
      .Add({{"version", build.version}, {"commit", build.commit}, {"compiler", build.compiler}})
      .Set(1);
  start_time_.Set(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  for (const char* outcome : {"acked", "expired", "error"}) swept(outcome);
  for (const char* status : {"queued", "dispatched", "in_progress", "completed", "failed", "stuck"}) {
    delegation_steps(status);
  }
  for (const char* status : {"queued", "dispatched", "in_progress"}) delegations_in_flight(status);
  for (const char* damage : {"changed", "missing"}) uploads_damaged(damage);
  for (const char* outcome : {"sound", "damaged", "unreadable"}) uploads_checked(outcome);
  for (const char* outcome : {"delivered", "spared", "refused_address", "unreachable", "timed_out", "bad_reply",
                              "too_large", "redirected", "busy", "failed"}) {
    pushes(outcome);
  }
  for (const char* outcome : {"delivered", "refused", "staged", "spared", "refused_address", "unreachable", "timed_out",
                              "bad_reply", "too_large", "redirected", "busy", "failed", "cut"}) {
    upload_pushes(outcome);
  }
}

prometheus::Histogram& Metrics::http_duration(std::string_view method, std::string_view route) {
  return http_duration_.Add({{"method", std::string(method)}, {"route", std::string(route)}}, kSeconds);
}

prometheus::Counter& Metrics::http_responses(std::string_view status_class) {
  return http_responses_.Add({{"class", std::string(status_class)}});
}

prometheus::Gauge& Metrics::connections(unsigned io_thread) {
  return connections_.Add({{"thread", std::to_string(io_thread)}});
}

prometheus::Counter& Metrics::requests(unsigned io_thread) {
  return requests_.Add({{"thread", std::to_string(io_thread)}});
}

prometheus::Counter& Metrics::refused(std::string_view reason) {
  return refused_.Add({{"reason", std::string(reason)}});
}

prometheus::Counter& Metrics::swept(std::string_view outcome) {
  return swept_.Add({{"outcome", std::string(outcome)}});
}

prometheus::Counter& Metrics::uploads_damaged(std::string_view damage) {
  return uploads_damaged_.Add({{"damage", std::string(damage)}});
}

prometheus::Counter& Metrics::uploads_checked(std::string_view outcome) {
  return uploads_checked_.Add({{"outcome", std::string(outcome)}});
}

prometheus::Counter& Metrics::pushes(std::string_view outcome) {
  return pushes_.Add({{"outcome", std::string(outcome)}});
}

prometheus::Counter& Metrics::delegation_steps(std::string_view status) {
  return delegation_steps_.Add({{"status", std::string(status)}});
}

prometheus::Gauge& Metrics::delegations_in_flight(std::string_view status) {
  return delegations_in_flight_.Add({{"status", std::string(status)}});
}

prometheus::Counter& Metrics::upload_pushes(std::string_view outcome) {
  return upload_pushes_.Add({{"outcome", std::string(outcome)}});
}

prometheus::Counter& Metrics::s3_requests(std::string_view operation, std::string_view outcome) {
  return s3_requests_.Add({{"operation", std::string(operation)}, {"outcome", std::string(outcome)}});
}

prometheus::Counter& Metrics::s3_bytes(std::string_view direction) {
  return s3_bytes_.Add({{"direction", std::string(direction)}});
}

prometheus::Gauge& Metrics::place_not_ours(std::string_view place) {
  return place_not_ours_.Add({{"place", std::string(place)}});
}

std::string Metrics::text() {
  std::ifstream statm("/proc/self/statm");
  double pages_virtual = 0;
  double pages_resident = 0;
  statm >> pages_virtual >> pages_resident;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  virtual_.Set(pages_virtual * page);
  resident_.Set(pages_resident * page);
  open_files_.Set(count_open_files());
  threads_.Set(count_threads());
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  max_files_.Set(static_cast<double>(files.rlim_cur));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  if (cpu > cpu_seconds_.Value()) cpu_seconds_.Increment(cpu - cpu_seconds_.Value());

  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, registry_.Collect());
  return out.str();
}

}  // namespace restante
