#include "model/workspace.h"

#include <array>
#include <utility>

namespace restante {
namespace {

constexpr std::array<std::pair<WorkspaceStatus, std::string_view>, 5> kStatuses{{
    {WorkspaceStatus::awaiting_agent, "awaiting_agent"},
    {WorkspaceStatus::online, "online"},
    {WorkspaceStatus::degraded, "degraded"},
    {WorkspaceStatus::offline, "offline"},
    {WorkspaceStatus::removed, "removed"},
}};

}  // namespace

std::string_view name_of(DeliveryMode mode) { return mode == DeliveryMode::poll ? "poll" : "push"; }

std::string_view name_of(WorkspaceStatus status) {
  for (const auto& [value, name] : kStatuses) {
    if (value == status) return name;
  }
  return "offline";
}

std::optional<DeliveryMode> parse_delivery_mode(std::string_view text) {
  if (text == "poll") return DeliveryMode::poll;
  if (text == "push") return DeliveryMode::push;
  return std::nullopt;
}

std::optional<WorkspaceStatus> parse_workspace_status(std::string_view text) {
  for (const auto& [value, name] : kStatuses) {
    if (name == text) return value;
  }
  return std::nullopt;
}

}  // namespace restante
