#include "cli/help.h"

#include <algorithm>
#include <array>

namespace restante::cli {
namespace {

struct Page {
  std::string_view command;
  std::string_view summary;
  std::string_view details;
};

constexpr std::string_view kExitCodes = R"(
Exit codes:
  0   done
  1   failed; the message says why
  64  the command line is wrong
  69  the server cannot be reached, or an address or store cannot be had
  75  try again later; nothing needs fixing
  77  the token is missing, wrong or not allowed to do this
  78  a setting is wrong; the message names it and where it came from
)";

constexpr std::array<Page, 6> kPages{{
    {"", "Restante: mail for AI agents nobody can call.", R"(Start here:
  restante dev                        a server, a workspace and an agent to look at
  restante serve                      the server on 127.0.0.1:8080, its data in ./data
  restante connect --url … --enrol …  on the laptop of an agent
  restante COMMAND --help             more about one of them

Environment:
  RESTANTE_…  every setting of the server (restante config --help)
  NO_COLOR    no colours; without a terminal there are none anyway
)"},
    {"serve", "Run the server until it is told to stop.",
     R"(Once it accepts connections it prints one line on stdout, "restante ready on http://…"; logs go to stderr, one JSON
object a line. SIGTERM or SIGINT stops it after the requests under way (timeouts.drain at most), a second one at once;
SIGHUP reads the TLS files again. The operator's token is made at first start in <data>/admin.token.

Examples:
  restante serve
  restante serve --listen 127.0.0.1:0 --data /var/lib/restante
  restante serve --config restante.toml --set log.level=warn --set timeouts.drain=10s
  restante serve --listen 0.0.0.0:443 --public-url https://post.example.org \
      --set tls.certificate=chain.pem --set tls.key=key.pem

Settings:
  Defaults, then the file, then RESTANTE_… variables, then flags: the later wins.
  restante config --example lists every key that --set takes, with its default and its reason.

Environment:
  RESTANTE_CONFIG       the file, when --config is not given
  RESTANTE_ADMIN_TOKEN  the operator's token, 43 characters of base64url
  RESTANTE_<KEY>        any setting: RESTANTE_LOG_LEVEL=warn, RESTANTE_LISTEN=127.0.0.1:80,[::1]:80
)"},
    {"dev", "Run a server with a demo workspace and an agent that answers.",
     R"(Everything on loopback and under one directory: a server, a workspace called demo, and an agent that answers each file
with its name, size and sha256. Prints an address to open in a browser, already signed in. Not for the open network.

Examples:
  restante dev
  restante dev --port 0 --data /tmp/try
  restante dev --no-agent            files stay waiting, to be fetched by hand or by your own agent
)"},
    {"connect", "Connect an agent on this machine to its workspace.",
     R"(Needs no open port: it asks the server and waits. Files land below --dir, are checked and acknowledged; messages are
handed to --exec, with file addresses rewritten to local paths. The first time takes --url and --enrol, both shown with a
new workspace; the token it gets is kept in the state directory, so that afterwards "restante connect" is enough.

Examples:
  restante connect --url https://post.example.org --enrol TOKEN
  restante connect --exec './answer.sh'
  restante connect --json | jq .

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the workspace's token, when --token-file is not given; never a flag, because flags show in ps
)"},
    {"config", "Print the effective configuration, or an example file.",
     R"(Merges and checks exactly as serve would, without starting anything: exit code 78 and one sentence if serve would refuse.
Prints TOML that can be loaded again; what is not a default says where it came from, secrets are masked.

Examples:
  restante config --example > restante.toml
  restante config --config restante.toml
  RESTANTE_LOG_LEVEL=warn restante config --set timeouts.drain=10s

Environment:
  RESTANTE_CONFIG       the file, when --config is not given
  RESTANTE_ADMIN_TOKEN  the operator's token: the only setting that no file and no flag can give
  RESTANTE_<KEY>        the key in capitals with _ for the dot: timeouts.header is RESTANTE_TIMEOUTS_HEADER;
                        lists are separated by commas. An unknown RESTANTE_ variable is refused as a typo.
)"},
    {"completion", "Print a completion script for bash or zsh.",
     R"(Examples:
  source <(restante completion bash)
  restante completion bash > ~/.local/share/bash-completion/completions/restante
  restante completion zsh > ~/.zfunc/_restante      (a directory of $fpath, before compinit)
)"},
}};

const Page* page(std::string_view command) {
  const auto found = std::ranges::find(kPages, command, &Page::command);
  return found == kPages.end() ? nullptr : &*found;
}

}  // namespace

std::string_view summary(std::string_view command) {
  const auto* found = page(command);
  return found ? found->summary : std::string_view();
}

std::string details(std::string_view command) {
  const auto* found = page(command);
  return found ? std::string(found->details) + std::string(kExitCodes) : std::string();
}

}  // namespace restante::cli
