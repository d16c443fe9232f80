#include "server/settings/kinds.h"

#include "server/config/s3.h"

namespace restante {
namespace {

using namespace std::chrono_literals;

// Better in the environment, but a private file is allowed. The value is never repeated.
Setting s3_secret(std::string key, auto at, std::string help) {
  auto setting = text(std::move(key), at, std::move(help), parse_s3_word);
  setting.secret = true;
  return setting;
}

}  // namespace

std::vector<Setting> store_settings() {
  return {
      number(
          "postgres.lanes", RESTANTE_FIELD(postgres.lanes), 1, 64,
          "Sessions that write; a workspace always uses the same one. Few = inboxes wait for each other; many = small "
          "groups of writes, and a sync for each."),
      number("postgres.readers", RESTANTE_FIELD(postgres.readers), 1, 256,
             "Sessions that read. With the lanes and three more they must fit, for all servers together, in the "
             "database's max_connections."),
      duration("postgres.connect_timeout", RESTANTE_FIELD(postgres.connect_timeout), 10ms, 1h,
               "How long a new session may take, and how long a write waits for a database that was just lost. Long = "
               "requests wait for a database that cannot be reached; short = a failover fails them."),
      duration("postgres.statement_timeout", RESTANTE_FIELD(postgres.statement_timeout), 10ms, 1h,
               "How long the database may work on one statement. Long = requests wait for a stuck database; short = "
               "on a slow database every statement fails."),

      duration("watchdog.stalled_after", RESTANTE_FIELD(watchdog.stalled_after), 10ms, 24h,
               "When a writer that works on one group of writes for so long is reported: /ready fails, and the log has "
               "writer_stalled. Short = a slow disk is an alarm."),
      duration("watchdog.end_after", RESTANTE_FIELD(watchdog.end_after), 0ms, 24h,
               "When such a server ends itself with exit code 75, so that its supervisor starts it again; 0 = never. "
               "Not below watchdog.stalled_after, nor six times postgres.statement_timeout; raised to that if it is "
               "not set."),

      text("s3.endpoint", RESTANTE_FIELD(s3.endpoint),
           "Where S3 answers: https://HOST or http://HOST:PORT, without the bucket. With plain http everyone on the "
           "network path can read the files.",
           parse_s3_endpoint),
      text("s3.bucket", RESTANTE_FIELD(s3.bucket),
           "The bucket; it must exist. While blobs has another value, a blob move may go to it.", parse_bucket),
      text("s3.region", RESTANTE_FIELD(s3.region),
           "The bucket's region. A wrong one is refused by S3, which answers with the right one.", parse_s3_word),
      text("s3.prefix", RESTANTE_FIELD(s3.prefix),
           "The beginning of every key, for example restante/, when the bucket is shared. Another prefix is "
           "another place: files under the old prefix are not found.",
           parse_s3_prefix),
      choice("s3.addressing", RESTANTE_FIELD(s3.addressing), {"path", "virtual_host"},
             "Where the bucket is named: path = ENDPOINT/BUCKET, which every server supports, or virtual_host = "
             "BUCKET.HOST, which needs a name and a certificate for it."),
      text("s3.ca_file", RESTANTE_FIELD(s3.ca_file), "PEM file of the authorities to trust instead of the system's.",
           any_text),
      s3_secret("s3.access_key", RESTANTE_FIELD(s3.access_key),
                "The key's name; together with s3.secret_key. Not set = AWS_ACCESS_KEY_ID and its companions, else a "
                "credentials file. Here only if this file is private; better RESTANTE_S3_ACCESS_KEY."),
      s3_secret("s3.secret_key", RESTANTE_FIELD(s3.secret_key),
                "The key itself. A person who knows it can read every file. Better RESTANTE_S3_SECRET_KEY."),
      s3_secret("s3.session_token", RESTANTE_FIELD(s3.session_token),
                "Of temporary credentials. They end while the server runs; only a credentials file is read again."),
      text("s3.credentials_file", RESTANTE_FIELD(s3.credentials_file),
           "A file as the aws tools write it; must not be readable by all users. Empty = AWS_SHARED_CREDENTIALS_FILE, "
           "else ~/.aws/credentials, which must be private, too. Read again whenever S3 refuses its keys.",
           any_text),
      text("s3.profile", RESTANTE_FIELD(s3.profile), "The section of that file.", any_text),
      duration("s3.patience", RESTANTE_FIELD(s3.patience), 10ms, 10min,
               "How long S3 may send nothing before an attempt ends. Long = uploaders wait for a bucket that is "
               "stuck."),
      number("s3.attempts", RESTANTE_FIELD(s3.attempts), 1, 20,
             "Attempts for a request that fails temporarily (a cut, 503 SlowDown). 1 = every such failure "
             "fails an upload."),
      number(
          "s3.threads", RESTANTE_FIELD(s3.threads), 1, 1'024,
          "Threads that wait for S3, so that other requests do not. Few = transfers wait for each other; each running "
          "upload uses up to 5 MiB."),
  };
}

}  // namespace restante
