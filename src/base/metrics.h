// Metrics has every figure the server exposes, as plain members, in Prometheus' registry. Labels come from closed sets
// only: a route template, a method, an outcome; never an id or a name. Thread-safe; counting never blocks.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace restante {

struct BuildInfo {
  std::string version;
  std::string commit;
  std::string compiler;
};

// A metric with labels: called with the value of each label, it returns the metric of these values.
template <class Metric>
class Labelled {
 public:
  Labelled(prometheus::Family<Metric>& family, std::vector<std::string> labels)
      : family_(family), labels_(std::move(labels)) {}

  Metric& operator()(const auto&... values) const { return find({text_of(values)...}); }

 private:
  static std::string text_of(std::string_view value) { return std::string(value); }
  static std::string text_of(unsigned value) { return std::to_string(value); }
  Metric& find(std::vector<std::string> values) const;

  prometheus::Family<Metric>& family_;
  std::vector<std::string> labels_;
};

class Metrics {
 private:
  template <class>
  friend class Labelled;
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  using Histogram = prometheus::Histogram;
  using Texts = std::vector<std::string>;

  prometheus::Registry registry_;

  // A metric of that name and help sentence. A labelled one has the `known` values of its label from the start.
  Labelled<Counter> counters(const char* name, const char* help, Texts labels, const Texts& known = {});
  Labelled<Gauge> gauges(const char* name, const char* help, Texts labels, const Texts& known = {});
  Labelled<Histogram> histograms(const char* name, const char* help, Texts labels);
  Counter& counter(const char* name, const char* help) { return counters(name, help, {})(); }
  Gauge& gauge(const char* name, const char* help) { return gauges(name, help, {})(); }
  Histogram& histogram(const char* name, const char* help, const Histogram::BucketBoundaries& buckets);
  static const Histogram::BucketBoundaries kSeconds, kTaskSeconds, kDeliverySeconds;

 public:
  explicit Metrics(const BuildInfo& build);

  // Prometheus text format, with the figures of the process as of now.
  std::string text();

  Gauge& held_polls = gauge("restante_held_polls", "Requests parked until something happens or their time is up.");
  Histogram& wake_latency =
      histogram("restante_wake_latency_seconds",
                "From the bell that wakes a held poll to its answer being handed to the socket.", kSeconds);
  Counter& uploads_staged = counter("restante_uploads_staged_total", "Files staged for an agent.");
  Counter& uploads_staged_bytes = counter("restante_uploads_staged_bytes_total", "Bytes staged for an agent.");
  Counter& uploads_fetched = counter("restante_uploads_fetched_total", "Fetches of staged files by their agent.");
  Counter& uploads_fetched_bytes =
      counter("restante_uploads_fetched_bytes_total", "Size of the files fetched by their agent.");
  Counter& uploads_acked = counter("restante_uploads_acked_total", "Files acknowledged by their agent.");
  Counter& uploads_acked_bytes =
      counter("restante_uploads_acked_bytes_total", "Bytes of files acknowledged by their agent.");
  Counter& uploads_failed =
      counter("restante_uploads_failed_total", "Times an agent reported that it could not take a file.");
  Counter& upload_push_bytes = counter("restante_upload_push_bytes_total", "Bytes of uploads passed on to callbacks.");
  Counter& uploads_recalled = counter("restante_uploads_recalled_total", "Files recalled by their sender.");
  // Of all workspaces, as of the last check.
  Gauge& pending_uploads = gauge("restante_pending_uploads", "Files that wait for their agent.");
  Gauge& pending_uploads_bytes = gauge("restante_pending_uploads_bytes", "Bytes that wait for their agent.");
  Gauge& pending_uploads_oldest_age = gauge("restante_pending_uploads_oldest_age_seconds",
                                            "Age of the file that has waited longest; 0 when none waits.");
  Gauge& damaged_uploads = gauge("restante_damaged_uploads",
                                 "Files that are still listed and whose content is known to be damaged or missing.");
  Counter& uploads_checked_bytes =
      counter("restante_uploads_checked_bytes_total", "Bytes read to compare files with what was staged.");
  Counter& orphans_collected =
      counter("restante_orphan_blobs_collected_total", "Blobs without a row that were found and deleted.");
  Histogram& upload_delivery =
      histogram("restante_upload_delivery_seconds", "From a file being staged to its agent's ack.", kDeliverySeconds);
  Histogram& sweep_duration =
      histogram("restante_sweep_duration_seconds", "How long one sweep of the staged files took.", kSeconds);
  Histogram& delegation_age =
      histogram("restante_delegation_age_seconds", "How old tasks were when they ended.", kTaskSeconds);
  Counter& late_answers =
      counter("restante_delegation_late_answers_total", "Answers that came after their task had ended.");
  Counter& delegation_sweep_errors =
      counter("restante_delegation_sweep_errors_total", "Sweeps of tasks that could not be finished.");
  Gauge& writer_stalled = gauge("restante_writer_stalled_seconds",
                                "How long a writer has worked on one group of writes; 0 while all of them move.");
  Counter& observer_failures =
      counter("restante_observer_failures_total", "Work after a commit that failed; what was committed is stored.");
  Counter& log_lines_lost = counter("restante_log_lines_lost_total", "Log lines that could not be written.");
  // Held polls cause none.
  Counter& store_reads = counter("restante_store_reads_total", "Queries to the database.");
  Counter& store_commits = counter("restante_store_commits_total", "Groups of writes committed to the database.");
  Counter& activity_pruned = counter("restante_activity_pruned_total", "Inbox rows deleted by retention.");
  Counter& invalid_tokens = counter("restante_invalid_tokens_total", "Invalid tokens in requests.");
  Gauge& silent_workspaces = gauge("restante_silent_workspaces", "Agents that used to poll and have stopped doing so.");
  Counter& s3_retries = counter("restante_s3_retries_total", "Requests to S3 that were sent again.");
  Counter& blob_fallbacks = counter("restante_blob_fallbacks_total",
                                    "Reads that the second place of a file had to serve, because the first could not.");
  Counter& blob_move_files = counter("restante_blob_move_files_total",
                                     "Files that were copied to another place and verified, and are read from there.");
  Counter& blob_move_bytes =
      counter("restante_blob_move_bytes_total", "Bytes of files that were copied to another place.");
  Counter& blob_move_failures =
      counter("restante_blob_move_failures_total", "Times a file could not be copied to another place.");
  // Files, as of the last check.
  Gauge& blob_move_left = gauge("restante_blob_move_left_files", "Files that the blob move has not copied yet.");
  Gauge& blob_move_left_bytes = gauge("restante_blob_move_left_bytes", "Bytes that the blob move has not copied yet.");

  // The router asks for those of each route once, at start, and keeps them.
  Labelled<Histogram> http_duration = histograms(
      "restante_http_request_duration_seconds",
      "From the request's head to the end of its answer, by route template; held time included.", {"method", "route"});
  Labelled<Counter> http_responses = counters("restante_http_responses_total", "Answers by status class.", {"class"});
  Labelled<Gauge> connections =
      gauges("restante_connections", "Open client connections by the I/O thread that owns them.", {"thread"});
  Labelled<Counter> requests =
      counters("restante_io_thread_requests_total", "Requests taken by each I/O thread.", {"thread"});
  Labelled<Counter> refused = counters("restante_requests_refused_total",
                                       "Requests refused before they reached a route, by reason.", {"reason"});
  Labelled<Counter> swept =
      counters("restante_pending_uploads_swept_total", "Staged files removed by the sweep, by outcome.", {"outcome"},
               {"acked", "expired", "error"});
  Labelled<Counter> uploads_damaged =
      counters("restante_uploads_damaged_total",
               "Files found not to be what was staged: their content has changed, or is missing.", {"damage"},
               {"changed", "missing"});
  Labelled<Counter> uploads_checked =
      counters("restante_uploads_checked_total", "Files whose content was compared with what was staged, by result.",
               {"outcome"}, {"sound", "damaged", "unreadable"});
  Labelled<Counter> pushes =
      counters("restante_pushes_total",
               "Messages to push workspaces: delivered to the callback, or why they went to the inbox.", {"outcome"},
               {"delivered", "spared", "refused_address", "unreachable", "timed_out", "bad_reply", "too_large",
                "redirected", "busy", "failed"});
  Labelled<Counter> upload_pushes =
      counters("restante_upload_pushes_total",
               "Uploads to push workspaces: delivered to the callback, staged instead, or why not.", {"outcome"},
               {"delivered", "refused", "staged", "spared", "refused_address", "unreachable", "timed_out", "bad_reply",
                "too_large", "redirected", "busy", "failed", "cut"});
  Labelled<Counter> delegation_steps =
      counters("restante_delegations_total", "Steps of tasks, by the status they led to.", {"status"},
               {"queued", "dispatched", "in_progress", "completed", "failed", "stuck"});
  Labelled<Gauge> delegations_in_flight =
      gauges("restante_delegations_in_flight", "Tasks that have not ended, by status.", {"status"},
             {"queued", "dispatched", "in_progress"});
  Labelled<Counter> s3_requests =
      counters("restante_s3_requests_total", "Requests to S3, every attempt, by operation and outcome.",
               {"operation", "outcome"});
  Labelled<Counter> s3_bytes = counters("restante_s3_bytes_total", "Bytes of files to and from S3.", {"direction"});
  Gauge& clock_trusted = gauge("restante_clock_trusted", "0 while the clock is in doubt and nothing expires.");
  Labelled<Gauge> place_not_ours =
      gauges("restante_place_not_ours", "1 while a place is not known to belong to this installation.", {"place"});

 private:
  Gauge& resident_ = gauge("process_resident_memory_bytes", "Resident memory.");
  Gauge& virtual_ = gauge("process_virtual_memory_bytes", "Virtual memory.");
  Gauge& open_files_ = gauge("process_open_fds", "Open file descriptors.");
  Gauge& max_files_ = gauge("process_max_fds", "How many file descriptors may be open.");
  Gauge& threads_ = gauge("process_threads", "Threads of the process.");
  Gauge& start_time_ = gauge("process_start_time_seconds", "When the process started, in seconds since 1970.");
  Counter& cpu_seconds_ = counter("process_cpu_seconds_total", "User and system time.");
};

}  // namespace restante
