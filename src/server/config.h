// Config: everything an operator can decide, in one struct, complete with defaults. Built once by load_config before
// anything is opened or bound; never changed afterwards, so any thread may read it.
//
// Sources, each overriding the one before: the defaults here, a TOML file, RESTANTE_… variables, flags. A setting that
// is unknown, doubled, of the wrong type or at odds with another throws ConfigError instead of being ignored: a typo
// that starts a server with a default is worse than one that does not start. The keys are listed in the
// settings_….cpp beside it.
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
    std::chrono::milliseconds sample_every{60'000};  // of the page's charts; 1 440 samples are kept: short = no day
    std::string token_file;  // who may read /metrics beyond loopback besides the admin; readable by all = no secret
  };

  enum class AckedContent { people, everyone };

  struct Uploads {
    std::uint64_t per_file_bytes = 26'214'400;      // the schema's own limit: may only be lowered
    std::uint64_t per_request_bytes = 134'217'728;  // below per_file_bytes the largest allowed file could never arrive
    unsigned max_files = 64;                        // files of one request; each is an open file until it commits
    std::chrono::seconds ttl{86'400};           // unfetched files are gone after it: shorter than a night loses mail
    std::chrono::seconds ack_retention{3'600};  // how long the page still shows an acked file; above ttl is nonsense
    std::uint64_t quota_bytes = 4ull << 30;     // of one workspace; 0 = one agent that never fetches fills the disk
    std::uint64_t quota_files = 10'000;         // of one workspace; 0 = a million tiny files are nobody's concern
    AckedContent acked_content = AckedContent::people;  // everyone = agents may fetch what they have acked
    std::chrono::milliseconds sweep_every{300'000};     // long = bytes stay on the disk after their time
    std::chrono::milliseconds check_every{86'400'000};  // 0 = damage on the disk is found by agents alone
    std::uint64_t check_rate = 1 << 20;                 // bytes a second; high = the disk is busy with checking
    bool staging = true;  // false = poll workspaces take no files, as before staging existed
  };

  struct Storage {
    std::uint64_t reserve = 512ull << 20;  // uploads stop below it; 0 = a full disk stops acks and messages, too
  };

  struct Postgres {
    unsigned lanes = 2;                                   // sessions that write; few = inboxes wait for each other
    unsigned readers = 8;                                 // sessions that read; many = the server's connections run out
    std::chrono::milliseconds connect_timeout{5'000};     // long = requests wait for a database that is not there
    std::chrono::milliseconds statement_timeout{10'000};  // long = requests wait for a database that is stuck
  };

  enum class Addressing { path, virtual_host };

  struct S3 {
    std::string endpoint;                        // http[s]://HOST[:PORT] of the service, without the bucket
    std::string bucket;                          // must exist; another one = all files are elsewhere
    std::string region = "us-east-1";            // is signed: a wrong one is refused
    std::string prefix;                          // in front of every key; another one = all files are elsewhere
    Addressing addressing = Addressing::path;    // virtual_host needs a name and a certificate for each bucket
    std::string ca_file;                         // PEM; empty = the system's authorities
    std::string access_key;                      // all three empty = from the AWS_… variables or a file
    std::string secret_key;                      // readable by others = they read everybody's mail
    std::string session_token;                   // of temporary keys, which end while the server runs: use a file
    std::string credentials_file;                // as the aws tools write it; read again when its keys are refused
    std::string profile = "default";             // section of that file
    std::chrono::milliseconds patience{15'000};  // with a silent S3; times attempts = how long an uploader waits
    unsigned attempts = 4;                       // of what may pass; 1 = every hiccup fails an upload
    unsigned threads = 16;                       // few = transfers wait for each other; each may hold 5 MiB
  };

  struct InboxRow {
    std::chrono::seconds retention{90 * 86'400};  // rows of the log leave after it: shorter and history is gone
    std::chrono::seconds ceiling{365 * 86'400};   // even what no agent consumed; below retention is nonsense
  };

  struct Delegations {
    std::chrono::seconds deadline{6 * 3'600};            // of a task whose caller names none; short = nobody can sleep
    std::chrono::seconds longest_deadline{30 * 86'400};  // that a caller may name; long = forgotten tasks fill limits
    std::chrono::milliseconds stuck_after{600'000};      // of silence; short = whoever thinks is given up
    std::chrono::milliseconds sweep_every{300'000};      // long = deadlines are noticed late
    unsigned max_depth = 16;                             // tasks below one another; 0 = they may call up each other
    unsigned max_per_caller = 1'000;                     // under way at once; 0 = one runaway agent fills all inboxes
    unsigned max_per_pair = 100;                         // from one caller to one callee; 0 = no limit
    unsigned max_per_callee = 1'000;                     // 0 = a popular agent drowns
  };

  struct Push {
    std::vector<std::string> allow_networks;    // beyond the public internet; too wide = agents probe your network
    std::vector<std::string> allow_ports;       // beside 80 and 443; 22 or 6379 here = agents talk to them through us
    std::chrono::milliseconds timeout{30'000};  // of one call, look-up included; the sender waits for it
    bool stage_when_down = false;               // true for an agent that never polls = its files wait for nobody
  };

  net::Options net;                // addresses, TLS, threads, limits, timeouts, request log: reasons in net/options.h
  std::string data = "data";       // a second server here is refused; on a disk that forgets, all is lost
  std::string database;            // empty = a file under data; sqlite://PATH, postgres://…
  std::string blobs = "dir";       // where new file bytes go: dir, inline or s3; what is elsewhere stays readable
  bool open_registration = false;  // anybody who can connect may create a workspace
  std::string public_url;          // wrong = pasted lines lead nowhere and the page refuses its own origin
  std::vector<std::string> trusted_proxies;  // addresses or CIDR; too wide = a client can forge its own address
  std::vector<std::string> allowed_hosts;    // more Host names for the page; too wide = DNS rebinding
  std::string access_roots = "talk";         // "isolated" keeps workspaces without a common ancestor apart
  bool migrate = true;                       // false with an old schema: starts, but /ready says what is missing
  std::string admin_token;                   // from RESTANTE_ADMIN_TOKEN only; empty = made at first start
  std::string server_key;                    // from RESTANTE_SERVER_KEY only; empty = made at first start
  Log log;
  Metrics metrics;
  Uploads uploads;
  Storage storage;
  Postgres postgres;
  S3 s3;
  InboxRow activity;
  Delegations delegations;
  std::chrono::seconds silence{60};         // of an agent that used to poll; short = whoever thinks is called deaf
  unsigned invalid_tokens_per_minute = 60;  // of one address; low = a proxy's clients lock each other out of retrying
  Push push;

  std::map<std::string, std::string> origins;  // key → "restante.toml:3", "RESTANTE_DATA", "--data"; absent = default
};

// For a person: one sentence that names the key, where it came from and the fix. Never holds a secret's value.
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
  std::map<std::string, std::string> environment;  // all variables; only RESTANTE_… are looked at
  std::vector<ConfigFlag> flags;
};

// Reads, merges and checks; what it returns is consistent and every file it names can be read. Throws ConfigError.
Config load_config(const ConfigSources& sources);

// The variables of this process, for ConfigSources::environment.
std::map<std::string, std::string> process_environment();

// The effective configuration as TOML that load_config takes back; secrets are masked (and therefore only comments).
std::string print_config(const Config& config);

// A TOML file with every setting, its default and the reason for it, everything commented out.
std::string example_config();

// What is allowed but probably not meant, one sentence each, most dangerous first.
std::vector<std::string> warnings(const Config& config);

// Whether the rows are in PostgreSQL, where several servers may share them.
bool is_shared(const Config& config);

// Whether [s3] names a bucket, used or not.
bool has_bucket(const Config& config);

// The file of the embedded database.
std::filesystem::path database_file(const Config& config);

// True when every listening address is reachable from this machine only.
bool loopback_only(const Config& config);

}  // namespace restante
