#include "server/config/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "model/upload.h"
#include "server/config/check.h"
#include "server/config/toml.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

namespace restante {
namespace {

void apply(Config& config, const Setting& setting, const ConfigValue& value, const std::string& origin) {
  try {
    setting.read(config, value);
  } catch (const BadValue& bad) {
    throw ConfigError(fmt::format("{} {}", spelled(setting.key, origin), bad.what()));
  }
  config.origins[setting.key] = origin;
}

[[noreturn]] void refuse_secret(const Setting& setting, const std::string& origin) {
  throw ConfigError(fmt::format("{} in {} is a secret and is taken from the environment{}: set {} instead", setting.key,
                                origin, setting.in_file ? " or the configuration file only" : " only",
                                environment_name(setting.key)));
}

void require_private(const std::string& path, const Setting& setting, const std::string& origin) {
  using std::filesystem::perms;
  std::error_code ignored;
  if ((std::filesystem::status(path, ignored).permissions() & perms::others_read) == perms::none) return;
  throw ConfigError(
      fmt::format("{} in {} is a secret, and all users of this machine can read that file: chmod o-rwx "
                  "it, and replace the secret if others have accounts here; or set {} instead",
                  setting.key, origin, environment_name(setting.key)));
}

void apply_file(Config& config, const std::string& path) {
  for (const auto& entry : read_toml_file(path)) {
    const auto& setting = *find_setting(entry.key);
    if (!setting.in_file) refuse_secret(setting, entry.origin);
    if (setting.secret) require_private(path, setting, entry.origin);
    apply(config, setting, entry.value, entry.origin);
  }
}

// Of the pollers in docs/agents.md. On a machine with both, a server should say more than that it does not know them.
constexpr std::string_view kPollerVariables[] = {"RESTANTE_DIR", "RESTANTE_STATE", "RESTANTE_RESULT_DIR"};

void apply_environment(Config& config, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> known = other_variables();
  for (const auto& setting : settings()) {
    known.push_back(environment_name(setting.key));
    const auto given = environment.find(known.back());
    if (given != environment.end()) apply(config, setting, BareText{given->second}, known.back());
  }
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("RESTANTE_") || std::ranges::find(known, name) != known.end()) continue;
    if (std::ranges::find(kPollerVariables, name) != std::end(kPollerVariables)) {
      throw ConfigError(
          fmt::format("{} is a variable of an agent's poller (docs/agents.md) and means nothing to a server: "
                      "unset it here (env -u {} restante …)",
                      name, name));
    }
    const auto meant = nearest(name, known);
    throw ConfigError(fmt::format("unknown variable {}: {}", in_quotes(name),
                                  meant.empty() ? "unset it (restante config --help explains their names)"
                                                : fmt::format("did you mean {}?", meant)));
  }
}

void apply_flags(Config& config, const std::vector<ConfigFlag>& flags) {
  std::set<std::string> seen;
  for (const auto& flag : flags) {
    const auto* setting = find_setting(flag.key);
    if (!setting) {
      const auto meant = nearest(flag.key, setting_keys());
      throw ConfigError(fmt::format(
          "unknown setting {} in {}: {}", in_quotes(flag.key), flag.spelled,
          meant.empty() ? "restante config --example lists them all" : fmt::format("did you mean {}?", meant)));
    }
    if (setting->secret) refuse_secret(*setting, flag.spelled);
    if (!seen.insert(flag.key).second) {
      throw ConfigError(fmt::format("{} is set a second time by {}: remove one of the two", flag.key, flag.spelled));
    }
    apply(config, *setting, BareText{flag.value}, flag.spelled);
  }
}

std::optional<std::string> file_to_read(const ConfigSources& sources) {
  if (sources.file) return sources.file;
  const auto named = sources.environment.find("RESTANTE_CONFIG");
  if (named == sources.environment.end()) return std::nullopt;
  if (named->second.empty()) throw ConfigError("RESTANTE_CONFIG is empty: name a file or unset it");
  return named->second;
}

// Settings of other sections that the edge needs.
void copy_to_edge_options(Config& config) {
  config.net.limits.stream_body = config.uploads.per_request_bytes;  // an upload is the only streamed body
  config.net.body_without_bytes = static_cast<std::size_t>(kMaxRowBytes);
  config.net.bytes_threads = has_bucket(config) ? config.s3.threads : 0;
  config.net.trusted_proxies.clear();
  for (const auto& text : config.trusted_proxies) {
    if (const auto network = http::Network::parse(text)) config.net.trusted_proxies.push_back(*network);
  }
}

// If only the times that it depends on were set, the server must start all the same.
void derive_end_after(Config& config) {
  auto& watchdog = config.watchdog;
  if (config.origins.contains("watchdog.end_after")) return;
  watchdog.end_after = std::max(watchdog.end_after, watchdog.stalled_after);
  if (is_shared(config)) watchdog.end_after = std::max(watchdog.end_after, 6 * config.postgres.statement_timeout);
}

}  // namespace

Config load_config(const ConfigSources& sources) {
  Config config;
  if (const auto file = file_to_read(sources)) apply_file(config, *file);
  apply_environment(config, sources.environment);
  apply_flags(config, sources.flags);
  copy_to_edge_options(config);
  derive_end_after(config);
  check_config(config);
  return config;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; entry && *entry; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals) all.emplace(std::string_view(*entry, equals - *entry), equals + 1);
  }
  return all;
}

bool has_bucket(const Config& config) { return !config.s3.bucket.empty(); }

bool is_shared(const Config& config) { return config.database.starts_with("postgres"); }

std::filesystem::path database_file(const Config& config) {
  constexpr std::string_view kScheme = "sqlite://";
  if (config.database.starts_with(kScheme)) return config.database.substr(kScheme.size());
  return std::filesystem::path(config.data) / "restante.db";
}

}  // namespace restante
