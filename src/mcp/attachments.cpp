#include "mcp/attachments.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace restante::mcp {
namespace {

using client::Failure;
namespace fs = std::filesystem;

// Whether `real` is `place` or is below it. Compares the files themselves, not their names: a hard link, another mount
// or another letter case leads to the same place.
bool is_at_or_below(const fs::path& real, const fs::path& place) {
  for (fs::path at = real;; at = at.parent_path()) {
    std::error_code error;
    if (fs::equivalent(at, place, error)) return true;
    if (at == at.root_path()) return false;
  }
}

bool is_at_or_below_any(const fs::path& real, const std::vector<std::string>& places) {
  return std::ranges::any_of(places, [&](const std::string& place) { return is_at_or_below(real, place); });
}

// A link to something that does not exist is not resolved, and may lead anywhere once it exists.
bool has_links(const fs::path& path) {
  for (fs::path at = path;; at = at.parent_path()) {
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(at, error))) return true;
    if (at == at.root_path()) return false;
  }
}

client::Outcome<std::string> check(const AttachmentRules& rules, const std::string& path) {
  std::error_code error;
  // Also for a path that does not exist: whether it does is said only about the allowed folders.
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error || has_links(real) || !is_at_or_below_any(real, rules.allowed)) {
    return Failure(Failure::Kind::stopped,
                   fmt::format("{}: is not sent, because it is not, or leads by a link to a place that is not, in a "
                               "folder that this agent may send files from: {}. The person who runs the agent can "
                               "allow another folder with --allow",
                               path, fmt::join(rules.allowed, ", ")));
  }
  if (is_at_or_below_any(real, rules.secret)) {
    return Failure(
        Failure::Kind::stopped,
        fmt::format("{}: is not sent, because it belongs to the agent's own state, which has its token", path));
  }
  return real.string();
}

}  // namespace

client::Outcome<std::vector<std::string>> check_attachments(const AttachmentRules& rules,
                                                            const std::vector<std::string>& paths) {
  std::vector<std::string> real;
  for (const auto& path : paths) {
    auto checked = check(rules, path);
    if (checked.has_error()) return checked.error();
    real.push_back(std::move(*checked));
  }
  return real;
}

}  // namespace restante::mcp
