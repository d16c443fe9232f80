#include "server/settings/kinds.h"

#include "base/text.h"
#include "model/token.h"

namespace restante {
namespace {

using namespace std::chrono_literals;

std::string some_directory(const std::string& text) {
  if (text.empty()) throw BadValue("must name a directory, such as \"data\"");
  return text;
}

std::string some_database(const std::string& text) {
  const bool shared = text.starts_with("postgres://") || text.starts_with("postgresql://");
  const bool embedded = text.starts_with("sqlite://") && text != "sqlite://";
  // The value is not repeated: it may contain a password.
  if (text.empty() || shared || embedded) return text;
  throw BadValue("must be empty (a file under data), sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE");
}

// Everything between the user's name and the @, and the password parameter of libpq.
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

std::string some_blobs(const std::string& text) {
  if (text == "dir" || text == "inline" || text == "s3") return text;
  if (text.starts_with("s3:")) throw BadValue("must be \"s3\": the bucket is named by s3.bucket");
  throw BadValue(fmt::format("must be \"dir\", \"inline\" or \"s3\", not {}", in_quotes(text)));
}

// A person who only fills in a sample sets a secret that is publicly known; 32 random bytes never look like this.
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

Setting database_setting() {
  auto setting =
      text("database", RESTANTE_FIELD(database),
           "Which database is used: empty = a SQLite file under data, sqlite://PATH, or postgres://… for several "
           "servers at once. With another value the server starts with an empty database. A password is better "
           "kept in ~/.pgpass or PGPASSWORD.",
           some_database);
  setting.print = [](const Config& c) { return toml_string(without_password(c.database)); };
  return with_flag(std::move(setting), "--database", "URL");
}

Setting admin_token_setting() {
  auto setting = text("admin_token", RESTANTE_FIELD(admin_token),
                      "The operator's token, 43 characters of base64url. Not set = made at first start in "
                      "<data>/admin.token.",
                      some_token);
  setting.secret = true;
  setting.in_file = false;
  return setting;
}

Setting server_key_setting() {
  auto setting = text("server_key", RESTANTE_FIELD(server_key),
                      "The secret under which push agents' inbound secrets are sealed, 43 characters of base64url; the "
                      "same for all servers of one database that have no data directory in common. Not set = made at "
                      "first start in <data>/server.key.",
                      some_token);
  setting.secret = true;
  setting.in_file = false;
  return setting;
}

}  // namespace

std::vector<Setting> general_settings() {
  return {
      listen_setting(),
      with_flag(text("data", RESTANTE_FIELD(data),
                     "Directory of everything that must survive a restart; back it up. On a temporary disk all "
                     "messages and files "
                     "are lost. One server at a time.",
                     some_directory),
                "--data", "DIR"),
      database_setting(),
      with_flag(text("blobs", RESTANTE_FIELD(blobs),
                     "Where file content is stored: dir = files under data, inline = in the database, s3 = the bucket "
                     "that [s3] names. Files in another place stay readable there; restante blobs migrate moves them.",
                     some_blobs),
                "--blobs", "KIND"),
      with_flag(
          flag("open_registration", RESTANTE_FIELD(open_registration),
               "Lets every client that can connect create a workspace. Refused unless every address listened on is "
               "loopback."),
          "--open-registration", ""),
      with_flag(
          text("public_url", RESTANTE_FIELD(public_url),
               "The public address of this server, for example https://post.example.org. Every printed link starts "
               "with it and the page accepts no other origin; when wrong, pasted lines do not work.",
               parse_public_url),
          "--public-url", "URL"),
      list("trusted_proxies", RESTANTE_FIELD(trusted_proxies),
           "Addresses or networks whose X-Forwarded-For and X-Forwarded-Proto are trusted. Too wide, and a client can "
           "forge "
           "its "
           "own address.",
           parse_network),
      list("allowed_hosts", RESTANTE_FIELD(allowed_hosts),
           "Host names of the page in addition to loopback and public_url. Too wide, and a foreign page can reach it "
           "by "
           "DNS rebinding.",
           parse_host),
      flag("migrate", RESTANTE_FIELD(migrate),
           "Brings the schema up to date at start. When false, an older schema is refused, except one from before "
           "uploads: then /ready names what is missing. See restante migrate."),
      admin_token_setting(),
      server_key_setting(),
      duration(
          "clock.confirm", RESTANTE_FIELD(clock_confirm), 1s, 24h,
          "After the clock was set, or a start found it far from the newest time in the store, nothing expires until "
          "it has been consistent for this long, or until restante clock accept. Short = a clock that is wrong for a "
          "moment deletes files that wait."),
  };
}

}  // namespace restante
