// Metrics has every figure the server exposes, as plain members, in Prometheus' registry. Labels come from closed sets
// only: a route template, a method, an outcome; never an id or a name. Thread-safe; counting never blocks.
#pragma once
#include <memory>
#include <string>
#include <string_view>
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

class Metrics {
 private:
  prometheus::Registry registry_;

 public:
  explicit Metrics(const BuildInfo& build);

  // Latency of one route. The router asks for it once at start and keeps it.
  prometheus::Histogram& http_duration(std::string_view method, std::string_view route);
  // Answers by class: "2xx" and so on.
  prometheus::Counter& http_responses(std::string_view status_class);
  // Open connections on one I/O thread, to see how work is spread.
  prometheus::Gauge& connections(unsigned io_thread);
  prometheus::Counter& requests(unsigned io_thread);
  // Requests refused before they reached a route, by a closed list of reasons.
  prometheus::Counter& refused(std::string_view reason);
  prometheus::Counter& swept(std::string_view outcome);
  // Files whose content is not what was staged: changed or missing.
  prometheus::Counter& uploads_damaged(std::string_view damage);
  // Files whose content was read and compared: sound, damaged or unreadable.
  prometheus::Counter& uploads_checked(std::string_view outcome);
  // Messages to push workspaces: delivered, or the reason why they went to the inbox.
  prometheus::Counter& pushes(std::string_view outcome);
  // Steps of tasks, by the status they led to.
  prometheus::Counter& delegation_steps(std::string_view status);
  // Delegations that have not ended, by status.
  prometheus::Gauge& delegations_in_flight(std::string_view status);
  // Uploads to push workspaces, by outcome.
  prometheus::Counter& upload_pushes(std::string_view outcome);
  // Requests to S3, every attempt, by operation and outcome.
  prometheus::Counter& s3_requests(std::string_view operation, std::string_view outcome);
  // 1 while this installation is not known to own the files in a place.
  prometheus::Gauge& place_not_ours(std::string_view place);
  // Bytes of files to and from S3: sent or received.
  prometheus::Counter& s3_bytes(std::string_view direction);

  prometheus::Gauge& held_polls;
  prometheus::Histogram& wake_latency;  // from the bell to the answer that is sent
  prometheus::Counter& uploads_staged;
  prometheus::Counter& uploads_staged_bytes;
  prometheus::Counter& uploads_fetched;
  prometheus::Counter& uploads_fetched_bytes;
  prometheus::Counter& uploads_acked;
  prometheus::Counter& uploads_acked_bytes;
  prometheus::Counter& uploads_failed;
  prometheus::Counter& upload_push_bytes;
  prometheus::Counter& uploads_recalled;
  prometheus::Gauge& pending_uploads;  // of all workspaces, as of the last check
  prometheus::Gauge& pending_uploads_bytes;
  prometheus::Gauge& pending_uploads_oldest_age;
  prometheus::Gauge& damaged_uploads;
  prometheus::Counter& uploads_checked_bytes;
  prometheus::Counter& orphans_collected;
  prometheus::Histogram& upload_delivery;  // from being staged to the agent's ack
  prometheus::Histogram& sweep_duration;
  prometheus::Histogram& delegation_age;  // at its end
  prometheus::Counter& late_answers;
  prometheus::Counter& delegation_sweep_errors;
  prometheus::Counter& log_lines_lost;
  prometheus::Counter& store_reads;    // every query to the database; held polls cause none
  prometheus::Counter& store_commits;  // groups of writes
  prometheus::Counter& activity_pruned;
  prometheus::Counter& invalid_tokens;
  prometheus::Gauge& silent_workspaces;
  prometheus::Counter& s3_retries;
  prometheus::Counter& blob_fallbacks;  // reads that the second place had to serve
  prometheus::Counter& blob_move_files;
  prometheus::Counter& blob_move_bytes;
  prometheus::Counter& blob_move_failures;
  prometheus::Gauge& blob_move_left;  // files, as of the last check
  prometheus::Gauge& blob_move_left_bytes;

  // Prometheus text format, with the figures of the process as of now.
  std::string text();

 private:
  prometheus::Family<prometheus::Histogram>& http_duration_;
  prometheus::Family<prometheus::Counter>& http_responses_;
  prometheus::Family<prometheus::Gauge>& connections_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Counter>& refused_;
  prometheus::Family<prometheus::Counter>& swept_;
  prometheus::Family<prometheus::Counter>& uploads_damaged_;
  prometheus::Family<prometheus::Counter>& uploads_checked_;
  prometheus::Family<prometheus::Counter>& pushes_;
  prometheus::Family<prometheus::Counter>& upload_pushes_;
  prometheus::Family<prometheus::Counter>& delegation_steps_;
  prometheus::Family<prometheus::Gauge>& delegations_in_flight_;
  prometheus::Family<prometheus::Counter>& s3_requests_;
  prometheus::Family<prometheus::Counter>& s3_bytes_;
  prometheus::Family<prometheus::Gauge>& place_not_ours_;
  prometheus::Gauge& resident_;
  prometheus::Gauge& virtual_;
  prometheus::Gauge& open_files_;
  prometheus::Gauge& max_files_;
  prometheus::Gauge& threads_;
  prometheus::Gauge& start_time_;
  prometheus::Counter& cpu_seconds_;
};

}  // namespace restante
