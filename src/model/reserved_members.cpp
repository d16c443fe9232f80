#include "model/reserved_members.h"

#include <algorithm>
#include <set>

namespace restante {
namespace {

constexpr std::string_view kMembers[] = {"delegation_id", "parent_delegation_id", "retry_of", "depth", "deadline"};

void remove_from(Json* object, std::string_view prefix, std::set<std::string>& removed) {
  if (!object) return;
  for (const std::string_view name : kMembers) {
    if (!object->find(name)) continue;
    object->erase(name);
    removed.insert(std::string(prefix) + std::string(name));
  }
}

// The object itself, and its metadata.
void remove_from_both(Json* object, std::set<std::string>& removed) {
  if (!object) return;
  remove_from(object, "", removed);
  remove_from(object->find("metadata"), "metadata.", removed);
}

}  // namespace

bool is_reserved_member(std::string_view name) { return std::ranges::find(kMembers, name) != std::end(kMembers); }

std::vector<std::string> remove_reserved_members(Json& call) {
  std::set<std::string> removed;
  // From the outside in: a member that is removed moves those after it.
  remove_from_both(&call, removed);
  Json* params = call.find("params");
  remove_from_both(params, removed);
  Json* message = params ? params->find("message") : nullptr;
  remove_from_both(message, removed);
  // v0.2 has its parts in `content`.
  for (const char* list : {"parts", "content"}) {
    Json* parts = message ? message->find(list) : nullptr;
    if (!parts || !parts->if_array()) continue;
    for (Json& part : *parts->if_array()) remove_from_both(&part, removed);
  }
  return {removed.begin(), removed.end()};
}

bool is_reserved_method(std::string_view method) {
  return method == "delegate_result" || method.starts_with("chat_upload_");
}

}  // namespace restante
