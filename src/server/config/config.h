// Config: everything an operator can decide, in one struct, complete with defaults. load_config builds it once before
// anything is opened or bound; it never changes afterwards, so any thread may read it.
//
// Sources, each overriding the one before: the defaults here, a TOML file, RESTANTE_… variables, flags. A setting that
// is unknown, set twice, of the wrong type or in conflict with another throws ConfigError and is not ignored: a typo
// that starts a server with a default is worse than one that does not start. The keys are listed in server/settings/.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/options.h"

namespace restante {

struct Config {
  struct Log {
    LogLevel level = LogLevel::info;  // debug on a busy server fills the disk; error hides why it is slow
  };

  struct Metrics {
    std::chrono::milliseconds sample_every{60'000};  // of the page's charts; 1 440 are kept: short = less than a day
    std::string token_file;  // token for /metrics beyond loopback, in addition to the operator's; must be private
  };

  enum class AckedContent { people, everyone };

  struct Uploads {
    std::uint64_t per_file_bytes = 26'214'400;      // the schema's own limit: may only be lowered
    std::uint64_t per_request_bytes = 134'217'728;  // below per_file_bytes the largest allowed file could never arrive
    unsigned max_files = 64;                        // files of one request; each is an open file until it commits
    std::chrono::seconds ttl{86'400};  // unfetched files are deleted after it: shorter than a night loses files
    std::chrono::seconds ack_retention{3'600};  // how long the page still shows an acked file; not above ttl
    std::uint64_t quota_bytes = 4ull << 30;     // of one workspace; 0 = one agent that never fetches fills the disk
    std::uint64_t quota_files = 10'000;         // of one workspace; 0 = no limit on the number of tiny files
    AckedContent acked_content = AckedContent::people;  // everyone = agents may fetch files they have acked
    std::chrono::milliseconds sweep_every{300'000};     // long = files stay on the disk after their time
    std::chrono::milliseconds check_every{86'400'000};  // 0 = only agents find damage on the disk
    std::uint64_t check_rate = 1 << 20;                 // bytes a second; high = the disk is busy with the check
    bool staging = true;  // false = poll workspaces take no files, as before staging existed
  };

  struct Storage {
    std::uint64_t reserve =
        512ull << 20;  // uploads stop below it, messages below half; 0 = a full disk stops acks, too
  };

  struct Postgres {
    unsigned lanes = 2;                                // sessions that write; few = inboxes wait for each other
    unsigned readers = 8;                              // sessions that read; many = the database's connections run out
    std::chrono::milliseconds connect_timeout{5'000};  // long = requests wait for a database that cannot be reached
    std::chrono::milliseconds statement_timeout{10'000};  // long = requests wait for a database that is stuck
  };

  enum class Addressing { path, virtual_host };

  struct S3 {
    std::string endpoint;                        // http[s]://HOST[:PORT] of the service, without the bucket
    std::string bucket;                          // must exist; another one = all files are missing
    std::string region = "us-east-1";            // is signed: a wrong one is refused
    std::string prefix;                          // of every key; another one = all files are missing
    Addressing addressing = Addressing::path;    // virtual_host needs a name and a certificate for each bucket
    std::string ca_file;                         // PEM; empty = the system's authorities
    std::string access_key;                      // all three empty = from the AWS_… variables or a file
    std::string secret_key;                      // readable by others = they can read all messages and files
    std::string session_token;                   // of temporary keys, which end while the server runs: use a file
    std::string credentials_file;                // as the aws tools write it; read again when its keys are refused
    std::string profile = "default";             // section of that file
    std::chrono::milliseconds patience{15'000};  // without an answer of S3; times attempts = how long an uploader waits
    unsigned attempts = 4;                       // for temporary failures; 1 = every such failure fails an upload
    unsigned threads = 16;                       // few = transfers wait for each other; each may use 5 MiB
  };

  struct InboxRetention {
    std::chrono::seconds retention{90 * 86'400};  // not below the longest deadline; short = the history is short
    std::chrono::seconds ceiling{365 * 86'400};   // also rows that no agent has acked; not below retention
  };

  struct Delegations {
    std::chrono::seconds deadline{6 * 3'600};  // of a task whose caller names none; short = closed laptops fail
    std::chrono::seconds longest_deadline{30 * 86'400};  // that a caller may name; long = old tasks fill the limits
    std::chrono::milliseconds stuck_after{600'000};      // without a heartbeat; short = agents that think for long fail
    std::chrono::milliseconds sweep_every{300'000};      // long = deadlines are noticed late
    unsigned max_depth = 16;          // how deep tasks are nested; 0 = 1 000, the most that is possible
    unsigned max_per_caller = 1'000;  // in progress at once; 0 = one runaway agent fills all inboxes
    unsigned max_per_pair = 100;      // from one caller to one receiving agent; 0 = no limit
    unsigned max_per_callee = 1'000;  // 0 = one agent may get more tasks than it can do
  };

  struct Watchdog {
    std::chrono::milliseconds stalled_after{60'000};  // on one group of writes; short = a slow disk is an alarm
    std::chrono::milliseconds end_after{300'000};     // 0 = a server that hangs stays as it is
  };

  struct Push {
    std::vector<std::string> allow_networks;    // in addition to public ones; too wide = agents probe your network
    std::vector<std::string> allow_ports;       // in addition to 80 and 443; 22 here = agents reach ssh through us
    std::chrono::milliseconds timeout{30'000};  // of one call, look-up included; the sender waits for it
    bool stage_when_down = false;               // true for an agent that never polls = its files are never fetched
  };

  net::Options net;                // addresses, TLS, threads, limits, timeouts, request log: reasons in net/options.h
  std::string data = "data";       // a second server here is refused; on a temporary disk all is lost
  std::string database;            // empty = a file under data; sqlite://PATH, postgres://…
  std::string blobs = "dir";       // where new files are stored: dir, inline or s3; other places stay readable
  bool open_registration = false;  // every client that can connect may create a workspace
  std::string public_url;          // wrong = pasted lines do not work and the page refuses its own origin
  std::vector<std::string> trusted_proxies;  // addresses or CIDR; too wide = a client can forge its own address
  std::vector<std::string> allowed_hosts;    // more Host names for the page; too wide = DNS rebinding
  std::string access_roots = "talk";         // "isolated" keeps workspaces without a common ancestor apart
  bool migrate = true;                       // false: an older schema is refused, except one from before uploads
  std::string admin_token;                   // from RESTANTE_ADMIN_TOKEN only; empty = made at first start
  std::string server_key;                    // from RESTANTE_SERVER_KEY only; empty = made at first start
  Log log;
  Metrics metrics;
  Uploads uploads;
  Storage storage;
  Postgres postgres;
  S3 s3;
  InboxRetention activity;
  Delegations delegations;
  // How long a clock that was set, or that a start doubts, must be consistent before anything expires again.
  std::chrono::milliseconds clock_confirm{600'000};
  std::chrono::seconds silence{60};  // for an agent that used to poll; short = busy agents are reported as silent
  unsigned invalid_tokens_per_minute = 60;  // of one address; low = clients behind one proxy lock each other out
  Push push;
  Watchdog watchdog;

  std::map<std::string, std::string> origins;  // key → "restante.toml:3", "RESTANTE_DATA", "--data"; absent = default
};

// For a person: one sentence with the key, its origin and the fix. Never contains a secret's value.
class ConfigError final : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One setting given on the command line. Lists are separated by commas.
struct ConfigFlag {
  std::string key;
  std::string value;
  std::string spelled;  // how the user wrote it: "--listen", "--set"
};

struct ConfigSources {
  std::optional<std::string> file;                 // --config; absent = RESTANTE_CONFIG, if that is set
  std::map<std::string, std::string> environment;  // all variables; only RESTANTE_… are read
  std::vector<ConfigFlag> flags;
};

// Reads, merges and checks. The result is consistent, and every file it names can be read. Throws ConfigError.
Config load_config(const ConfigSources& sources);

// The variables of this process, for ConfigSources::environment.
std::map<std::string, std::string> process_environment();

// The effective configuration as TOML that load_config can read; secrets are masked (and therefore only comments).
std::string print_config(const Config& config);

// A TOML file with every setting, its default and the reason for it, everything commented out.
std::string example_config();

// Settings that are allowed but probably a mistake, one sentence each, the most dangerous first.
std::vector<std::string> warnings(const Config& config);

// Whether the database is PostgreSQL, which several servers may share.
bool is_shared(const Config& config);

// Whether [s3] names a bucket, used or not.
bool has_bucket(const Config& config);

// The file of the embedded database.
std::filesystem::path database_file(const Config& config);

// True when every listening address is reachable from this machine only.
bool loopback_only(const Config& config);

// True when public_url or trusted_proxies say that a proxy passes requests of other machines on to this server.
bool behind_proxy(const Config& config);

}  // namespace restante
