#include "server/config/check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/fd.h"
#include "http/url.h"
#include "server/config/s3.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

namespace restante {

std::string from(const Config& config, const std::string& key) {
  const auto origin = config.origins.find(key);
  return origin == config.origins.end() ? key + " (the default)" : spelled(key, origin->second);
}

// Uses one descriptor, so that the file cannot be replaced between check and read.
std::string check_file(const Config& config, const std::string& key, const std::string& path, Privacy privacy) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    throw ConfigError(fmt::format("{} names {}, which cannot be read ({}): correct the path or its permissions",
                                  from(config, key), in_quotes(path), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw ConfigError(fmt::format("{} names {}, which is not a file", from(config, key), in_quotes(path)));
  }
  if (privacy == Privacy::secret && (status.st_mode & S_IROTH) != 0) {
    throw ConfigError(
        fmt::format("{} names {}, which all users of this machine can read: chmod o-rwx it, and replace the "
                    "secret if others have accounts here",
                    from(config, key), in_quotes(path)));
  }
  std::array<char, 1024> start;
  const auto got = ::read(file.get(), start.data(), start.size());
  return got > 0 ? std::string(start.data(), static_cast<std::size_t>(got)) : std::string();
}

void check_pem(const Config& config, const std::string& key, const std::string& path, Privacy privacy) {
  // Certificates may begin with text; only an empty file or a binary (DER) one is certainly wrong.
  const auto start = check_file(config, key, path, privacy);
  if (!start.empty() && start.find('\0') == std::string::npos) return;
  throw ConfigError(fmt::format("{} names {}, which is not PEM: give the text form (-----BEGIN …)", from(config, key),
                                in_quotes(path)));
}

namespace {

void check_tls(const Config& config) {
  const auto& [certificate, key] = std::tie(config.net.tls_certificate, config.net.tls_key);
  if (certificate.empty() != key.empty()) {
    const bool has_key = certificate.empty();
    throw ConfigError(fmt::format("{} is set without {}: set both or neither",
                                  from(config, has_key ? "tls.key" : "tls.certificate"),
                                  has_key ? "tls.certificate" : "tls.key"));
  }
  if (certificate.empty()) return;
  check_pem(config, "tls.certificate", certificate, Privacy::open);
  check_pem(config, "tls.key", key, Privacy::secret);
}

void check_metrics(const Config& config) {
  constexpr std::size_t kShortest = 16;  // thousands of guesses a second can find a short token
  if (config.metrics.token_file.empty()) return;
  const auto token = check_file(config, "metrics.token_file", config.metrics.token_file, Privacy::secret);
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  if (token.size() - static_cast<std::size_t>(std::ranges::count_if(token, blank)) >= kShortest) return;
  throw ConfigError(fmt::format("{} names {}, which holds fewer than 16 characters: put a random token there",
                                from(config, "metrics.token_file"), in_quotes(config.metrics.token_file)));
}

void check_uploads(const Config& config) {
  const auto& uploads = config.uploads;
  if (uploads.ack_retention > uploads.ttl) {
    throw ConfigError(fmt::format("{} is {}, longer than {} with {}: lower the first or raise the second",
                                  from(config, "uploads.ack_retention"), print_duration(uploads.ack_retention),
                                  from(config, "uploads.ttl"), print_duration(uploads.ttl)));
  }
  if (uploads.per_file_bytes > uploads.per_request_bytes) {
    throw ConfigError(
        fmt::format("{} is {}, below {} with {}: no file of that size could arrive, so raise the first or "
                    "lower the second",
                    from(config, "uploads.per_request_bytes"), uploads.per_request_bytes,
                    from(config, "uploads.per_file_bytes"), uploads.per_file_bytes));
  }
}

void check_inbox_retention(const Config& config) {
  const auto& activity = config.activity;
  if (activity.ceiling >= activity.retention) return;
  throw ConfigError(fmt::format("{} is {}, below {} with {}: raise the first or lower the second",
                                from(config, "activity.ceiling"), print_duration(activity.ceiling),
                                from(config, "activity.retention"), print_duration(activity.retention)));
}

// A task that has ended must stay as long as a part of it may still be in progress, because the part names it.
void check_task_retention(const Config& config) {
  const auto& tasks = config.delegations;
  const bool named = tasks.longest_deadline >= tasks.deadline;
  const auto longest = named ? tasks.longest_deadline : tasks.deadline;
  if (config.activity.retention >= longest) return;
  throw ConfigError(fmt::format(
      "{} is {}, below {} with {}: a task would be deleted while parts of it are in progress, so raise the "
      "first or lower the second",
      from(config, "activity.retention"), print_duration(config.activity.retention),
      from(config, named ? "delegations.longest_deadline" : "delegations.deadline"), print_duration(longest)));
}

// A write that waits for a database that is stuck ends by itself after a few of its timeouts.
void check_watchdog(const Config& config) {
  const auto end = config.watchdog.end_after;
  if (end.count() == 0) return;
  const auto refuse = [&](std::string_view times, const std::string& key, std::chrono::milliseconds value) {
    throw ConfigError(fmt::format(
        "{} is {}, below {}{} with {}: the server would end itself without need, so raise the "
        "first or lower the second",
        from(config, "watchdog.end_after"), print_duration(end), times, from(config, key), print_duration(value)));
  };
  const auto stalled = config.watchdog.stalled_after;
  if (end < stalled) refuse("", "watchdog.stalled_after", stalled);
  const auto statement = config.postgres.statement_timeout;
  if (is_shared(config) && end < 6 * statement) refuse("six times ", "postgres.statement_timeout", statement);
}

void check_registration(const Config& config) {
  if (!config.open_registration || loopback_only(config)) return;
  const auto open = std::ranges::find_if_not(config.net.listen, is_loopback, &net::Endpoint::host);
  throw ConfigError(
      fmt::format("{} would let every client that reaches {} create workspaces: turn it off or listen on 127.0.0.1 "
                  "only",
                  from(config, "open_registration"), print_endpoint(*open)));
}

bool trusts_every_address(const Config& config) {
  return std::ranges::any_of(config.trusted_proxies, [](const std::string& net) { return net.ends_with("/0"); });
}

}  // namespace

void check_config(const Config& config) {
  check_registration(config);
  check_uploads(config);
  check_inbox_retention(config);
  check_task_retention(config);
  check_watchdog(config);
  check_tls(config);
  check_metrics(config);
  check_s3(config);
}

bool loopback_only(const Config& config) {
  return std::ranges::all_of(config.net.listen, is_loopback, &net::Endpoint::host);
}

bool behind_proxy(const Config& config) { return !config.public_url.empty() || !config.trusted_proxies.empty(); }

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> found;
  const bool tls = !config.net.tls_certificate.empty();
  const bool plain_url =
      config.public_url.starts_with("http://") && !is_loopback(http::split_url(config.public_url).host);
  if (!loopback_only(config)) {
    const auto open = std::ranges::find_if_not(config.net.listen, is_loopback, &net::Endpoint::host);
    if (!tls && config.trusted_proxies.empty()) {
      found.push_back(
          fmt::format("{} is open to the network without TLS: tokens and files can be read on the way; set "
                      "tls.certificate and tls.key, or trusted_proxies if a proxy in front does TLS",
                      print_endpoint(*open)));
    }
    if (config.public_url.empty()) {
      found.push_back(
          fmt::format("{} is open to the network but public_url is not set: printed links lead to the wrong "
                      "place and the page works on loopback only",
                      print_endpoint(*open)));
    }
  }
  if (trusts_every_address(config)) {
    found.emplace_back("trusted_proxies holds a network of every address: any client can forge its own address");
  }
  if (plain_url) {
    found.push_back(fmt::format("public_url {} is plain http: tokens travel readable; use https", config.public_url));
  }
  const bool public_name = !config.public_url.empty() && !is_loopback(http::split_url(config.public_url).host);
  if (config.open_registration && (public_name || !config.trusted_proxies.empty())) {
    found.emplace_back(
        "open_registration is on and public_url is not loopback, or trusted_proxies is set: if a proxy forwards to "
        "this server, every client can create workspaces");
  }
  add_s3_warnings(config, found);
  return found;
}

}  // namespace restante
