#include "model/named_files.h"

#include <algorithm>
#include <string>

namespace restante {
namespace {

// As the server writes it. Inside of a text its quotes would be escaped, so it is a member of an object.
constexpr std::string_view kMember = R"("uri":")";

void add_keys(std::vector<Digest>& keys, std::string_view body, NamedBy by, WorkspaceId workspace) {
  for (auto at = body.find(kMember); at != std::string_view::npos; at = body.find(kMember, at)) {
    at += kMember.size();
    const std::string_view uri = body.substr(at, body.find('"', at) - at);
    if (const auto file = file_of(uri, workspace)) keys.push_back(named_key(by, *file));
  }
}

}  // namespace

Digest named_key(NamedBy by, FileId file) {
  return sha256((by == NamedBy::agent ? "the agent names " : "a person names ") + file.text());
}

std::vector<Digest> named_keys_of(const NewInboxRow& row, WorkspaceId workspace) {
  std::vector<Digest> keys;
  if (row.source_id || (row.method != "message/send" && row.method != "notify")) return keys;
  add_keys(keys, row.request_body, NamedBy::person, workspace);
  add_keys(keys, row.response_body, NamedBy::agent, workspace);
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return keys;
}

}  // namespace restante
