#include "server/config_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <type_traits>

#include "base/text.h"
#include "model/token.h"
#include "server/config_s3.h"

namespace restante {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Reaches one field of a const or a mutable Config.
#define AT(field) [](auto& c) -> auto& { return c.field; }

constexpr std::uint64_t kMiB = 1024 * 1024;

Setting text(std::string key, auto at, std::string help, std::string (*parse)(const std::string&)) {
  return {std::move(key), std::move(help),
          [at, parse](Config& c, const ConfigValue& v) { at(c) = parse(read_text(v)); },
          [at](const Config& c) { return toml_string(at(c)); }};
}

Setting flag(std::string key, auto at, std::string help) {
  return {std::move(key), std::move(help), [at](Config& c, const ConfigValue& v) { at(c) = read_flag(v); },
          [at](const Config& c) -> std::string { return at(c) ? "true" : "false"; }};
}

Setting number(std::string key, auto at, std::uint64_t low, std::uint64_t high, std::string help) {
  const auto read = [at, low, high](Config& c, const ConfigValue& v) {
    at(c) = static_cast<std::remove_reference_t<decltype(at(c))>>(read_number(v, low, high));
  };
  return {std::move(key), std::move(help), read, [at](const Config& c) { return fmt::format("{}", at(c)); }};
}

// Fields of whole seconds refuse fractions rather than round them.
Setting duration(std::string key, auto at, milliseconds low, milliseconds high, std::string help) {
  const auto read = [at, low, high](Config& c, const ConfigValue& v) {
    using Field = std::remove_reference_t<decltype(at(c))>;
    const auto given = read_duration(v);
    if (given < low || given > high) {
      throw BadValue(fmt::format("must be from {} to {}, not {}", print_duration(low), print_duration(high),
                                 print_duration(given)));
    }
    at(c) = std::chrono::duration_cast<Field>(given);
    if (at(c) != given) throw BadValue(fmt::format("must be whole seconds, not {}", print_duration(given)));
  };
  return {std::move(key), std::move(help), read, [at](const Config& c) { return toml_string(print_duration(at(c))); }};
}

Setting list(std::string key, auto at, std::string help, std::string (*parse)(const std::string&)) {
  const auto read = [at, parse](Config& c, const ConfigValue& v) {
    std::vector<std::string> items;
    for (const auto& item : read_list(v)) items.push_back(parse(item));
    at(c) = std::move(items);
  };
  return {std::move(key), std::move(help), read, [at](const Config& c) { return toml_list(at(c)); }};
}

// The names stand in the order of the enumerators.
Setting choice(std::string key, auto at, std::vector<std::string> names, std::string help) {
  const auto read = [at, names](Config& c, const ConfigValue& v) {
    using Field = std::remove_reference_t<decltype(at(c))>;
    at(c) = static_cast<Field>(std::ranges::find(names, read_choice(v, names)) - names.begin());
  };
  return {std::move(key), std::move(help), read,
          [at, names](const Config& c) { return toml_string(names.at(static_cast<std::size_t>(at(c)))); }};
}

Setting with_flag(Setting setting, std::string spelled, std::string shape) {
  setting.flag = std::move(spelled);
  setting.shape = std::move(shape);
  return setting;
}

std::string any_text(const std::string& text) { return text; }

std::string some_directory(const std::string& text) {
  if (text.empty()) throw BadValue("must name a directory, such as \"data\"");
  return text;
}

std::string some_database(const std::string& text) {
  const bool shared = text.starts_with("postgres://") || text.starts_with("postgresql://");
  const bool embedded = text.starts_with("sqlite://") && text != "sqlite://";
  // The value is not repeated: it may hold a password.
  if (text.empty() || shared || embedded) return text;
  throw BadValue("must be empty (a file under data), sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE");
}

// Everything between the user's name and the @, and what libpq takes as a parameter.
std::string without_password(std::string url) {
  const auto at = url.find("://");
  if (at == std::string::npos) return url;
  const auto host = url.find('@', at);
  const auto colon = url.find(':', at + 3);
  if (host != std::string::npos && colon < host) url.replace(colon + 1, host - colon - 1, "********");
  const auto parameter = url.find("password=");
  if (parameter == std::string::npos) return url;
  const auto value = parameter + std::string_view("password=").size();
  return url.replace(value, std::min(url.find('&', value), url.size()) - value, "********");
}

std::string some_roots(const std::string& text) {
  if (text == "talk" || text == "isolated") return text;
  throw BadValue("must be talk or isolated");
}

std::string some_blobs(const std::string& text) {
  if (text == "dir" || text == "inline" || text == "s3") return text;
  if (text.starts_with("s3:")) throw BadValue("must be \"s3\": the bucket is named by s3.bucket");
  throw BadValue(fmt::format("must be \"dir\", \"inline\" or \"s3\", not {}", in_quotes(text)));
}

// Someone who fills in a sample sets a secret that everybody knows; 32 random bytes never look like this.
bool looks_made_up(const std::string& token) {
  const std::string low = lower_case(token);
  std::string distinct = token;
  for (const auto* word : {"changeme", "change-me", "change_me", "password", "example", "default", "placeholder"}) {
    if (low.find(word) != std::string::npos) return true;
  }
  std::ranges::sort(distinct);
  const auto rest = std::ranges::unique(distinct);
  int steps = 0;
  for (std::size_t i = 1; i < token.size(); ++i) steps += token[i] == token[i - 1] + 1 ? 1 : 0;
  return distinct.size() - rest.size() < 12 || steps > 20;
}

std::string some_token(const std::string& token) {
  constexpr auto kFix = "make one with: openssl rand -base64 32 | tr '+/' '-_' | tr -d '='";
  if (!looks_like_token(token)) {
    throw BadValue(fmt::format("must be 43 characters of base64url ({}) or not be set at all", kFix));
  }
  if (looks_made_up(token)) throw BadValue(fmt::format("looks like a sample, not a secret: {}", kFix));
  return token;
}

std::string some_port(const std::string& text) {
  const auto port = parse_unsigned(text);
  if (!port || *port == 0 || *port > 65'535 || text.front() == '0') {
    throw BadValue(fmt::format("must be ports from 1 to 65535, not {}", in_quotes(text)));
  }
  return text;
}

Setting listen_setting() {
  const auto read = [](Config& c, const ConfigValue& v) {
    std::vector<net::Endpoint> endpoints;
    std::vector<std::string> seen;
    for (const auto& item : read_list(v)) {
      endpoints.push_back(parse_endpoint(item));
      if (endpoints.back().port != 0 && std::ranges::find(seen, item) != seen.end()) {
        throw BadValue(fmt::format("names {} twice: remove one", item));
      }
      seen.push_back(item);
    }
    if (endpoints.empty()) throw BadValue("must name at least one address, such as \"127.0.0.1:8080\"");
    c.net.listen = std::move(endpoints);
  };
  const auto print = [](const Config& c) {
    std::vector<std::string> items;
    for (const auto& endpoint : c.net.listen) items.push_back(print_endpoint(endpoint));
    return toml_list(items);
  };
  Setting setting{
      "listen",
      "Addresses and ports to listen on; port 0 picks a free one. Anything but a loopback address is open to "
      "the network: set tls or trusted_proxies, and public_url, with it.",
      read, print};
  setting.list = true;
  return with_flag(std::move(setting), "--listen", "ADDRESS:PORT");
}

Setting ack_retention_setting() {
  // Negative means at once, as it did in the first design; configurations with -1 are out there.
  auto setting =
      duration("uploads.ack_retention", AT(uploads.ack_retention), -87'600h, 8'760h,
               "How long an acknowledged file can still be seen by people on the page. 0 removes it at the next "
               "sweep. Not above uploads.ttl.");
  setting.read = [plain = setting.read](Config& c, const ConfigValue& v) {
    plain(c, v);
    c.uploads.ack_retention = std::max(c.uploads.ack_retention, 0s);
  };
  return setting;
}

Setting per_file_setting() {
  static constexpr std::uint64_t kSchemaLimit = 26'214'400;
  auto setting =
      number("uploads.per_file_bytes", AT(uploads.per_file_bytes), 1, std::numeric_limits<std::int64_t>::max(),
             "Largest file. It may only be lowered: the database itself refuses more than 26214400.");
  setting.read = [plain = setting.read](Config& c, const ConfigValue& v) {
    plain(c, v);
    if (c.uploads.per_file_bytes <= kSchemaLimit) return;
    throw BadValue(
        fmt::format("may only be lowered: write {} or less, not {}", kSchemaLimit, c.uploads.per_file_bytes));
  };
  return setting;
}

Setting database_setting() {
  auto setting =
      text("database", AT(database),
           "Where the rows live: empty = a SQLite file under data, sqlite://PATH, or postgres://… for several "
           "servers at once. Pointing it elsewhere starts with an empty post office. A password is better "
           "kept in ~/.pgpass or PGPASSWORD.",
           some_database);
  setting.print = [](const Config& c) { return toml_string(without_password(c.database)); };
  return with_flag(std::move(setting), "--database", "URL");
}

Setting admin_token_setting() {
  auto setting = text("admin_token", AT(admin_token),
                      "The operator's token, 43 characters of base64url. Not set = made at first start in "
                      "<data>/admin.token.",
                      some_token);
  setting.secret = true;
  setting.in_file = false;
  return setting;
}

Setting server_key_setting() {
  auto setting = text("server_key", AT(server_key),
                      "The secret under which push agents' inbound secrets are sealed, 43 characters of base64url; the "
                      "same for all servers of one database that have no data directory in common. Not set = made at "
                      "first start in <data>/server.key.",
                      some_token);
  setting.secret = true;
  setting.in_file = false;
  return setting;
}

// Better in the environment, but a file of the server's own will do. Of the value nothing is repeated.
Setting s3_secret(std::string key, auto at, std::string help) {
  auto setting = text(std::move(key), at, std::move(help), parse_s3_word);
  setting.secret = true;
  return setting;
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all{
      listen_setting(),
      with_flag(
          text("data", AT(data),
               "Directory of everything that must survive a restart; back it up. On a disk that forgets, all mail is "
               "lost. One server at a time.",
               some_directory),
          "--data", "DIR"),
      database_setting(),
      with_flag(
          text("blobs", AT(blobs),
               "Where the bytes of files go: dir = files under data, inline = rows of the database, s3 = the bucket "
               "that [s3] names. What lies elsewhere stays readable there; restante blobs migrate moves it.",
               some_blobs),
          "--blobs", "KIND"),
      with_flag(flag("open_registration", AT(open_registration),
                     "Lets anybody who can connect create a workspace. Refused unless every address listened on is "
                     "loopback."),
                "--open-registration", ""),
      with_flag(
          text("public_url", AT(public_url),
               "How the world reaches this server, for example https://post.example.org. Every printed link starts "
               "with it and the page accepts no other origin; when wrong, pasted lines lead nowhere.",
               parse_public_url),
          "--public-url", "URL"),
      list("trusted_proxies", AT(trusted_proxies),
           "Addresses or networks whose X-Forwarded-For and X-Forwarded-Proto count. Too wide, and a client can forge "
           "its "
           "own address.",
           parse_network),
      list("allowed_hosts", AT(allowed_hosts),
           "Host names the page answers to besides loopback and public_url. Too wide, and a foreign page can reach it "
           "by "
           "DNS rebinding.",
           parse_host),
      flag("migrate", AT(migrate),
           "Brings the schema up to date at start. When false and the schema is old, the server starts and /ready says "
           "what "
           "is missing."),
      admin_token_setting(),
      server_key_setting(),

      text("tls.certificate", AT(net.tls_certificate),
           "PEM file with the certificate and its chain; empty = plain HTTP. Read again on SIGHUP.", any_text),
      text("tls.key", AT(net.tls_key), "PEM file with the private key; must not be readable by everybody.", any_text),

      number("threads.io", AT(net.io_threads), 0, 1'024,
             "Threads that move bytes; 0 = one per core. More than cores only adds switching."),
      number("threads.pool", AT(net.pool_threads), 1, 1'024,
             "Threads for work that blocks on the store or a disk. Too few, and requests queue behind a slow disk."),

      number("limits.request_line", AT(net.limits.request_line), 64, kMiB,
             "Bytes of a request line, beyond it 414. Cursors and filters travel in it."),
      number("limits.header_bytes", AT(net.limits.header_bytes), 64, kMiB,
             "Bytes of all headers of a request, beyond it 431. Held in memory for every connection."),
      number("limits.header_count", AT(net.limits.header_count), 1, 10'000, "Headers of a request, beyond it 431."),
      number("limits.json_body", AT(net.limits.json_body), 1, 64 * kMiB,
             "Bytes of a JSON body, beyond it 413. Read into memory as a whole."),
      number("limits.connections", AT(net.connections), 0, 10'000'000,
             "Connections at once; 0 = as many as the open-file limit allows. Beyond it new ones wait or are closed."),
      number(
          "limits.connections_per_address", AT(net.connections_per_address), 1, 10'000'000,
          "Connections of one address (IPv6: of one /64). Behind a proxy all clients share one: keep it high there."),
      number("limits.invalid_tokens_per_minute", AT(invalid_tokens_per_minute), 1, 1'000'000'000,
             "Invalid tokens of one address (IPv6: of one /64) in a minute, beyond it 429. Valid tokens are never "
             "affected."),
      number("limits.polls_per_token", AT(net.parked_per_owner), 1, 10'000,
             "Held polls of one token; one more answers the oldest empty."),

      duration("timeouts.header", AT(net.timeouts.header), 1ms, 1h,
               "From the first byte of a request to the end of its head, beyond it 408. Long = slow senders hold "
               "connections."),
      duration(
          "timeouts.idle", AT(net.timeouts.idle), 1ms, 24h,
          "A kept-alive connection with nothing asked. Shorter than the 60s of most proxies makes them answer 502."),
      duration("timeouts.body_grace", AT(net.timeouts.body_grace), 1ms, 1h,
               "How long a body may come slower than timeouts.min_rate before it counts."),
      number(
          "timeouts.min_rate", AT(net.min_rate), 1, 1'000'000'000,
          "Bytes per second that senders (after the grace) and readers must manage on average. High = poor lines are "
          "cut."),
      duration("timeouts.write_stall", AT(net.timeouts.write_stall), 1ms, 1h,
               "A reader that takes nothing at all for this long is cut."),
      duration("timeouts.request", AT(net.timeouts.request), 1ms, 24h,
               "Absolute deadline of one request with its body. Orphaned bytes are collected only after it."),
      duration("timeouts.drain", AT(net.timeouts.drain), 0ms, 1h,
               "How long a stop waits for requests under way. Keep it below the service manager's kill."),
      duration("timeouts.linger", AT(net.timeouts.linger), 0ms, 1min,
               "Reading on after a refusal, so that the client sees the answer and not a reset."),

      choice("log.level", AT(log.level), {"debug", "info", "warn", "error"},
             "debug, info, warn or error: the least that is logged. debug fills disks."),
      choice("log.requests", AT(net.log_requests), {"none", "errors", "all"},
             "Which requests get a line: errors, all or none. all costs CPU and disk at thousands a second."),

      duration(
          "metrics.sample_every", AT(metrics.sample_every), 10ms, 24h,
          "How often the figures for the page's charts are taken. The last 1440 are kept, in memory: with 1m that is "
          "a day."),
      text("metrics.token_file", AT(metrics.token_file),
           "File with a token of at least 16 characters that may read /metrics; must not be readable by everybody. On "
           "loopback /metrics is open, elsewhere it takes this or the admin's token.",
           any_text),

      text("access.roots", AT(access_roots),
           "Whether workspaces without a parent may talk to each other: talk, or isolated where several parties share "
           "the server.",
           some_roots),
      per_file_setting(),
      number("uploads.per_request_bytes", AT(uploads.per_request_bytes), 1, 1ull << 40,
             "Bytes of one upload request with all its files, beyond it 413. Not below uploads.per_file_bytes."),
      number("uploads.max_files", AT(uploads.max_files), 1, 64, "Files of one upload request, at most 64."),
      duration("uploads.ttl", AT(uploads.ttl), 1s, 8'760h,
               "How long a file waits for its agent, in whole seconds. Shorter than a laptop stays closed loses mail."),
      ack_retention_setting(),
      number("uploads.quota_bytes", AT(uploads.quota_bytes), 0, 1ull << 50,
             "Bytes that may wait for one workspace and from it, acked ones not counted, beyond it 507; 0 = no limit. "
             "Without one, an agent that never fetches fills the disk."),
      number("uploads.quota_files", AT(uploads.quota_files), 0, 1'000'000'000,
             "Files that may wait for one workspace and from it, acked ones not counted, beyond it 507; 0 = no limit."),
      choice(
          "uploads.acked_content", AT(uploads.acked_content), {"people", "everyone"},
          "Who may still read a file after its agent has acked it, until it is swept: people, or everyone, which lets "
          "the agent fetch it again."),
      duration("uploads.sweep_every", AT(uploads.sweep_every), 10ms, 24h,
               "How often what is due leaves. Long = bytes stay on the disk after their time."),
      duration("uploads.check_every", AT(uploads.check_every), 0ms, 8'760h,
               "How often all files are read and compared with what was staged, at uploads.check_rate. 0 = never: then "
               "damage on the disk is found only where an agent reports a file it could not take."),
      number("uploads.check_rate", AT(uploads.check_rate), 1'024, 1ull << 40,
             "Bytes a second that this check reads. High = the disk is busy with it; low = a round takes days."),
      flag(
          "uploads.staging", AT(uploads.staging),
          "Takes files for poll workspaces. When false they get 422, as before staging existed; what is staged already "
          "can still be fetched."),
      number("storage.reserve", AT(storage.reserve), 0, 1ull << 50,
             "Bytes of disk that uploads leave free, beyond it 507, so that messages and acks still have room. 0 = "
             "uploads go on until the disk is full."),

      duration("presence.silence", AT(silence), 1s, 24h,
               "An agent in poll mode that has not listened for this long, and for five of its usual gaps, is shown as "
               "silent. Short = agents that think are called deaf."),
      number(
          "postgres.lanes", AT(postgres.lanes), 1, 64,
          "Sessions that write; a workspace always has the same one. Few = inboxes wait for each other; many = small "
          "groups, and a sync for each."),
      number("postgres.readers", AT(postgres.readers), 1, 256,
             "Sessions that read. With the lanes and three more they must fit, for all servers together, in the "
             "database's max_connections."),
      duration("postgres.connect_timeout", AT(postgres.connect_timeout), 10ms, 1h,
               "How long a new session may take. Long = requests wait for a database that is not there."),
      duration("postgres.statement_timeout", AT(postgres.statement_timeout), 10ms, 1h,
               "How long the database may work on one statement. Long = requests wait for one that is stuck; short = "
               "none of them is ever done on a slow one."),
      text("s3.endpoint", AT(s3.endpoint),
           "Where S3 answers: https://HOST or http://HOST:PORT, without the bucket. Plain http shows everybody on the "
           "way what is in the files.",
           parse_s3_endpoint),
      text("s3.bucket", AT(s3.bucket),
           "The bucket; it must exist. Set while blobs is something else, it is the place a change-over may go to.",
           parse_bucket),
      text("s3.region", AT(s3.region), "The bucket's region. A wrong one is refused by S3, which says the right one.",
           parse_s3_word),
      text("s3.prefix", AT(s3.prefix),
           "Stands in front of every key, for example restante/, where the bucket is not ours alone. Another prefix is "
           "another place: files are not looked for under the old one.",
           parse_s3_prefix),
      choice("s3.addressing", AT(s3.addressing), {"path", "virtual_host"},
             "Where the bucket is named: path = ENDPOINT/BUCKET, which every server takes, or virtual_host = "
             "BUCKET.HOST, which needs a name and a certificate for it."),
      text("s3.ca_file", AT(s3.ca_file), "PEM file of the authorities to trust instead of the system's.", any_text),
      s3_secret("s3.access_key", AT(s3.access_key),
                "The key's name; together with s3.secret_key. Not set = AWS_ACCESS_KEY_ID and its companions, else a "
                "credentials file. Here only if not everybody can read this file; better RESTANTE_S3_ACCESS_KEY."),
      s3_secret("s3.secret_key", AT(s3.secret_key),
                "The key itself. Whoever knows it can read every file. Better RESTANTE_S3_SECRET_KEY."),
      s3_secret("s3.session_token", AT(s3.session_token),
                "Of temporary credentials. They end while the server runs; a credentials file is read again then."),
      text("s3.credentials_file", AT(s3.credentials_file),
           "A file as the aws tools write it; must not be readable by everybody. Empty = AWS_SHARED_CREDENTIALS_FILE, "
           "else ~/.aws/credentials. Read again when S3 says that its keys have expired.",
           any_text),
      text("s3.profile", AT(s3.profile), "The section of that file.", any_text),
      duration("s3.patience", AT(s3.patience), 10ms, 10min,
               "How long S3 may be silent before an attempt is given up. Long = uploaders wait for a bucket that is "
               "stuck."),
      number("s3.attempts", AT(s3.attempts), 1, 20,
             "How often what may pass (a cut, 503 SlowDown) is tried. 1 = every hiccup of S3 fails an upload."),
      number("s3.threads", AT(s3.threads), 1, 1'024,
             "Threads that wait for S3, so that nobody else has to. Few = transfers wait for each other; each upload "
             "under way holds up to 5 MiB."),
      duration("activity.retention", AT(activity.retention), 1s, 876'000h,
               "How long rows of the log are kept, in whole seconds. What an agent has not consumed stays until "
               "activity.ceiling."),
      duration("activity.ceiling", AT(activity.ceiling), 1s, 876'000h,
               "When even messages go that no agent has consumed. Not below activity.retention."),

      duration("delegations.deadline", AT(delegations.deadline), 1s, 8'760h,
               "How long a task may take whose caller names no deadline, in whole seconds. Shorter than a laptop stays "
               "closed fails tasks nobody has seen."),
      duration(
          "delegations.longest_deadline", AT(delegations.longest_deadline), 1s, 8'760h,
          "The latest deadline a caller may name, from now. Long = forgotten tasks count against the limits below."),
      duration("delegations.stuck_after", AT(delegations.stuck_after), 10ms, 24h,
               "A task that was picked up and has been silent for this long is stuck. Short = agents that think are "
               "given up."),
      duration("delegations.sweep_every", AT(delegations.sweep_every), 10ms, 24h,
               "How often deadlines and silences are looked at. Long = callers learn of them late."),
      number("delegations.max_depth", AT(delegations.max_depth), 0, 1'000,
             "Tasks that may hang below one another, beyond it 422; 0 = no limit."),
      number("delegations.max_per_caller", AT(delegations.max_per_caller), 0, 1'000'000,
             "Tasks that one agent may have given and not yet got back, beyond it 429; 0 = no limit. Without one, a "
             "runaway agent fills all inboxes."),
      number("delegations.max_per_pair", AT(delegations.max_per_pair), 0, 1'000'000,
             "The same from one agent to one other; 0 = no limit."),
      number("delegations.max_per_callee", AT(delegations.max_per_callee), 0, 1'000'000,
             "Tasks that may be under way for one agent, beyond it 429; 0 = no limit."),

      list("push.allow_networks", AT(push.allow_networks),
           "Networks beyond the public internet that push workspaces' callback URLs may lead to, for example "
           "10.0.0.0/8. Too wide, and an agent can make this server call into your own network.",
           parse_network),
      list("push.allow_ports", AT(push.allow_ports),
           "Ports that callback URLs may have beside 80 and 443. A port of another service lets agents talk to it.",
           some_port),
      duration(
          "push.timeout", AT(push.timeout), 1ms, 5min,
          "How long one call of a callback may take altogether; then the message goes to the inbox. Long = senders "
          "wait for dead agents."),
      flag(
          "push.stage_when_down", AT(push.stage_when_down),
          "Stage an upload for a push agent that cannot be reached, as for a poll agent, instead of answering 502. For "
          "agents that also poll: others never learn of it."),
  };
  return all;
}

#undef AT

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = all_settings();
  return all;
}

const Setting* find_setting(std::string_view key) {
  const auto found = std::ranges::find(settings(), key, &Setting::key);
  return found == settings().end() ? nullptr : &*found;
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const auto& setting : settings()) {
    if (setting.in_file) keys.push_back(setting.key);
  }
  return keys;
}

std::string environment_name(std::string_view key) {
  std::string name = "RESTANTE_";
  for (const unsigned char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::string spelled(const std::string& key, const std::string& origin) {
  const auto* setting = find_setting(key);
  const bool says_key = origin == environment_name(key) || (setting && origin == setting->flag);
  return says_key ? origin : fmt::format("{} in {}", key, origin);
}

const std::vector<std::string>& other_variables() {
  static const std::vector<std::string> names{"RESTANTE_CONFIG", "RESTANTE_URL", "RESTANTE_TOKEN", "RESTANTE_BINARY",
                                              "RESTANTE_SOURCE"};
  return names;
}

}  // namespace restante
